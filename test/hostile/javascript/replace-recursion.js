// class: stack
// attacks: Go's stack: replace recursion
// want: Stack
function sync({parent, children}) {
  const f = () => 'a'.replace('a', f); f()
  return {};
}
