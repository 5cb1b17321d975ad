// class: native
// attacks: one copy of a hundred thousand texts, which are one
// want: Memory
function sync({parent, children}) {
  Object.assign({}, ...Array(100_000).fill('x'.repeat(400_000)))
  return {}
}
