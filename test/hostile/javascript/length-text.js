// class: memory
// attacks: a text that is called length
// want: Memory|Timeout
function sync({parent, children}) {
  const o = {length: 'x'.repeat(1e6)}; for (let i = 0; i < 30; i++) o.length = o.length + o.length; return {n: o.length.length}
  return {};
}
