// class: stack
// attacks: Go's stack: set prototypes
// want: Stack
function sync({parent, children}) {
  let o = {}; for (let i = 0; i < 1e7; i++) { const p = {}; p.__proto__ = o; o = p }
  return {};
}
