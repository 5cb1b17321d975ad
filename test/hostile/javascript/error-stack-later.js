// class: memory
// attacks: the stack of an error whose name and message change before it is asked for
// want: Memory|Timeout
function sync({parent, children}) {
  let m = 'x'.repeat(1e6); for (let i = 0; i < 20; i++) { const e = new Error(); e.name = m; e.message = m; m = e.stack } return {n: m.length}
  return {};
}
