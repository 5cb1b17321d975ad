// class: stack
// attacks: Go's stack: stringify cycle
// want: Runtime
function sync({parent, children}) {
  const a = []; a.push(a); JSON.stringify(a)
  return {};
}
