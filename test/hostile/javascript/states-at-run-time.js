// class: native
// attacks: a regular expression: states at run time
// want: answer|Timeout|Memory
function sync({parent, children}) {
  new RegExp('(((a?){30}){30}){30}').test('a'.repeat(1e6))
  return {};
}
