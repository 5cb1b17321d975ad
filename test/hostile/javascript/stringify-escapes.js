// class: memory
// attacks: JSON.stringify makes six characters of each
// want: Memory
function sync({parent, children}) {
  const b = '\u0001'.repeat(1.6e7); return {n: JSON.stringify([b]).length}
  return {};
}
