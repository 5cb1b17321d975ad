// class: memory
// attacks: a function that replaces each character by a long text, with replaceAll
// want: Memory|Timeout
function sync({parent, children}) {
  const b='x'.repeat(1e5), c='y'.repeat(1e6); return {n: b.replaceAll('x', () => c).length}
  return {};
}
