// class: memory
// attacks: String of an error, whose name and message are that text
// want: Memory|Timeout
function sync({parent, children}) {
  const e = new Error('x'.repeat(1e6)); for (let i = 0; i < 20; i++) { e.message = String(e); e.name = e.message } return {n: e.name.length}
  return {};
}
