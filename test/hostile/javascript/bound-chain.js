// class: stack
// attacks: Go's stack: bound chain
// want: Stack|Memory|Timeout
function sync({parent, children}) {
  let f = () => 1; for (let i = 0; i < 3e5; i++) f = f.bind(); f()
  return {};
}
