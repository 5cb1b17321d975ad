// class: native
// attacks: a regular expression: thousands of alternatives, made again and again
// want: Timeout|Memory
function sync({parent, children}) {
  for (let n = 0x3000; ; n++) {
    let text = '';
    for (let i = 0; i < 5000; i++) text += '|' + String.fromCharCode(n + 2 * i);
    new RegExp('(?:' + text.slice(1) + ')*=').test('x');
  }
}
