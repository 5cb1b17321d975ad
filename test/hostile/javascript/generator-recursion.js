// class: stack
// attacks: Go's stack: generator recursion
// want: Stack|Timeout|Memory
function sync({parent, children}) {
  function* g() { yield* g() } [...g()]
  return {};
}
