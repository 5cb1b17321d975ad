// class: native
// attacks: a regular expression: a list of thousands of groups for each character
// want: Timeout
function sync({parent, children}) {
  return {found: new RegExp('(a?)'.repeat(2000) + 'z').test('a'.repeat(15000))};
}
