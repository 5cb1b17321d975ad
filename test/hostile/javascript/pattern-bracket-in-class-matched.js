// class: native
// attacks: a regular expression: a bracket in a class, in a long text
// want: Timeout
function sync({parent, children}) {
  return {found: new RegExp('(?:' + 'a?'.repeat(1500) + '[(]?){300}b').test('a'.repeat(15000))};
}
