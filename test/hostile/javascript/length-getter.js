// class: memory
// attacks: the length of a number, which is a text
// want: Memory|Timeout
function sync({parent, children}) {
  Object.defineProperty(Number.prototype, 'length', {get() { return s }}); let s = 'x'.repeat(1e6); for (let i = 0; i < 40; i++) s = (5).length + (5).length; return {n: s.length}
  return {};
}
