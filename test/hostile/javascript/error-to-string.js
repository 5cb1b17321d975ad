// class: memory
// attacks: the text of an error, whose name and message are that text
// want: Memory|Timeout
function sync({parent, children}) {
  let e = {name: 'x'.repeat(1e6), message: 'y'}; for (let i = 0; i < 20; i++) { const t = Error.prototype.toString.call(e); e = {name: t, message: t} } return {n: e.name.length}
  return {};
}
