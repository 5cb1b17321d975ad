// class: memory
// attacks: one native call that joins one long text a hundred thousand times: String.raw
// want: Memory
function sync({parent, children}) {
  const big = 'x'.repeat(1.6e7); return {n: String.raw({raw: new Array(100000).fill(big)}).length}
  return {};
}
