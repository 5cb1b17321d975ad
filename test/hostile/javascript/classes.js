// class: stack
// attacks: Go's stack: classes
// want: Stack
function sync({parent, children}) {
  let A = class {}; for (let i = 0; i < 1e7; i++) A = class extends A {}; new A()
  return {};
}
