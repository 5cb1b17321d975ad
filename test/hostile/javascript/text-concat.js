// class: memory
// attacks: memory: text concat
// want: Memory|Timeout
function sync({parent, children}) {
  const s = 'x'.repeat(1.6e7); ''.concat(s, s, s, s)
  return {};
}
