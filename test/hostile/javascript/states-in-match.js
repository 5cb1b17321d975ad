// class: native
// attacks: a regular expression: states in match
// want: answer|Timeout|Memory
function sync({parent, children}) {
  'a'.repeat(1e6).match('(((a?){30}){30}){30}')
  return {};
}
