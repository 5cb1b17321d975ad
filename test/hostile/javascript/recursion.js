// class: stack
// attacks: Go's stack: recursion
// want: Stack
function sync({parent, children}) {
  const f = () => f(); f()
  return {};
}
