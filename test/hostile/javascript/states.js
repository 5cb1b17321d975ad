// class: native
// attacks: a regular expression: states
// want: answer|Timeout|Memory
function sync({parent, children}) {
  /(((a?){30}){30}){30}/.test('a'.repeat(1e6))
  return {};
}
