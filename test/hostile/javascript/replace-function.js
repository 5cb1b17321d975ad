// class: memory
// attacks: a function that replaces each character by a long text
// want: Memory|Timeout
function sync({parent, children}) {
  const b='x'.repeat(1e6), c='y'.repeat(1e6); return {n: b.replace(/x/g, () => c).length}
  return {};
}
