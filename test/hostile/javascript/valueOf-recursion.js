// class: stack
// attacks: Go's stack: valueOf recursion
// want: Stack
function sync({parent, children}) {
  const o = {valueOf() { return +o }}; +o
  return {};
}
