// class: stack
// attacks: Go's stack: literal prototypes
// want: Stack
function sync({parent, children}) {
  let o = {}; for (let i = 0; i < 1e7; i++) o = {__proto__: o}; return {a: o.x}
  return {};
}
