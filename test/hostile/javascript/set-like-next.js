// class: native
// attacks: a set-like object without end, whose next is native
// want: Memory|Timeout
function sync({parent, children}) {
  const s = new Set([1]); s.union({size: Infinity, has() {}, keys() { return {next: Object} }})
  return {};
}
