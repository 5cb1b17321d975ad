// class: memory
// attacks: the stack of an error that the interpreter makes
// want: Memory|Timeout
function sync({parent, children}) {
  let m = 'x'.repeat(1e6); for (let i = 0; i < 20; i++) { let e; try { null.x } catch (x) { e = x } e.name = m; e.message = m; m = e.stack } return {n: m.length}
  return {};
}
