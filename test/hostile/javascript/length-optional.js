// class: memory
// attacks: a text that is called length, by other syntax
// want: Memory|Timeout
function sync({parent, children}) {
  let o = {length: 'x'.repeat(1e6)}; for (let i = 0; i < 40; i++) o.length = o?.length + o['length']; return {n: o.length.length}
  return {};
}
