// class: memory
// attacks: an array for each of a million elements
// want: Memory
function sync({parent, children}) {
  return {many: Object.entries(Array(1e6).fill(1))}
}
