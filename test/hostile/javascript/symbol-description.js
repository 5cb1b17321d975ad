// class: memory
// attacks: a symbol that is described by the text of the symbol before
// want: Memory|Timeout
function sync({parent, children}) {
  let t = 'x'.repeat(1e6); for (let i = 0; i < 20; i++) { const y = Symbol(t); t = y.toString() + y.description } return {n: t.length}
  return {};
}
