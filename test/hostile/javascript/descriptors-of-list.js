// class: memory
// attacks: the descriptions of a million elements
// want: Memory
function sync({parent, children}) {
  return {many: Object.getOwnPropertyDescriptors(Array(1e6).fill(1))}
}
