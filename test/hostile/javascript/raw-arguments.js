// class: memory
// attacks: String.raw, by what is put between the parts
// want: Memory
function sync({parent, children}) {
  const big = 'x'.repeat(1.6e7); return {n: String.raw({raw: new Array(1000).fill('')}, ...new Array(999).fill(big)).length}
  return {};
}
