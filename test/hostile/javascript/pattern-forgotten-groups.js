// class: native
// attacks: a regular expression: each repetition forgets thousands of groups
// want: Timeout|Memory
function sync({parent, children}) {
  return {found: new RegExp('^(?:a|' + '()'.repeat(9000) + ')*z').test('a'.repeat(1e6))};
}
