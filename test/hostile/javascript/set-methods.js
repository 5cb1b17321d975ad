// class: native
// attacks: methods of sets whose entries are parts of one long text
// want: Memory|Timeout
function sync({parent, children}) {
  const b = 'x'.repeat(2e6); const s = new Set(), t = new Set([1]); for (let i = 0; i < 1000; i++) s.add(b.substring(i)); for (let i = 0; i < 20; i++) { s.union(s); s.isSubsetOf(s); s.difference(s); s.symmetricDifference(s) } return {n: s.size}
  return {};
}
