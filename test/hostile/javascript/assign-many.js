// class: native
// attacks: one copy of a hundred thousand objects, which are one
// want: Memory
function sync({parent, children}) {
  const o = {}
  for (let i = 0; i < 20_000; i++) o['a' + i] = i
  Object.assign({}, ...Array(100_000).fill(o))
  return {}
}
