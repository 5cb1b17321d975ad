// class: stack
// attacks: Go's stack: sort recursion
// want: Stack
function sync({parent, children}) {
  const f = () => [1, 2].sort(f); f()
  return {};
}
