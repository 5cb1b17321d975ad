// class: memory
// attacks: a regular expression: Go copies large classes
// want: Memory|Timeout
function sync({parent, children}) {
  for (let i = 1; ; i++) new RegExp('^(?:\\p{L}' + String.fromCharCode(0x3000 + i) + '){490}$', 'u').test('ab');
}
