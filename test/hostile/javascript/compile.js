// class: native
// attacks: a regular expression: compile
// want: Runtime
function sync({parent, children}) {
  /x/.compile('y')
  return {};
}
