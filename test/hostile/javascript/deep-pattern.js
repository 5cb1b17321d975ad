// class: native
// attacks: a regular expression: deep pattern
// want: Memory|Runtime|Syntax
function sync({parent, children}) {
  new RegExp('('.repeat(1e6))
  return {};
}
