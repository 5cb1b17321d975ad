// class: native
// attacks: a regular expression: repetitions in each other, hundreds deep
// want: answer|Timeout
function sync({parent, children}) {
  return {found: new RegExp('(?:'.repeat(490) + 'a|aa' + ')+'.repeat(490) + 'b').test('a'.repeat(2000))};
}
