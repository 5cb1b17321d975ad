// class: stack
// attacks: Go's stack: prototypes
// want: Stack
function sync({parent, children}) {
  let o = {}; for (let i = 0; i < 1e7; i++) o = Object.create(o); return {a: o.x}
  return {};
}
