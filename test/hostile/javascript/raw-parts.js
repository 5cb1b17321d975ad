// class: memory
// attacks: String.raw, again and again
// want: Memory|Timeout
function sync({parent, children}) {
  const s = 'x'.repeat(1.6e7); for (;;) String.raw({raw: {length: 2, 0: s, 1: s}})
  return {};
}
