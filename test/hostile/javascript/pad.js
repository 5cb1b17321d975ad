// class: memory
// attacks: memory: pad
// want: Memory
function sync({parent, children}) {
  'a'.padStart(1e9, 'b')
  return {};
}
