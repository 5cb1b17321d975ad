// class: native
// attacks: one copy of thousands of objects with long names, which are one
// want: Timeout|Memory
function sync({parent, children}) {
  const text = 'x'.repeat(1.5e7), o = {}
  for (let i = 0; i < 60; i++) o[text.slice(0, -1 - i)] = 1
  Object.assign({}, ...Array(5000).fill(o))
  return {}
}
