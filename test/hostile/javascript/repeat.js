// class: memory
// attacks: memory: repeat
// want: Memory
function sync({parent, children}) {
  'ab'.repeat(2 ** 62)
  return {};
}
