// class: memory
// attacks: the stack of an error, whose name and message are that text
// want: Memory|Timeout
function sync({parent, children}) {
  let m = 'x'.repeat(1e6); for (let i = 0; i < 20; i++) { const e = new Error(m); e.name = m; m = e.stack } return {n: m.length}
  return {};
}
