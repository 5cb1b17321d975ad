// class: native
// attacks: a regular expression: made without flags, which is not translated
// want: Timeout|Memory
function sync({parent, children}) {
  for (let i = 0; ; i++) new RegExp('(?:' + 'a'.repeat(30) + '[(]){33}(?:' + 'b'.repeat(30) + '[)]){33}(?:' + 'c'.repeat(30) + '){' + i % 33 + '}' + i).test('a');
}
