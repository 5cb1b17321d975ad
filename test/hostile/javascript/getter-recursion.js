// class: stack
// attacks: Go's stack: getter recursion
// want: Stack
function sync({parent, children}) {
  const o = {get a() { return this.a }}; o.a
  return {};
}
