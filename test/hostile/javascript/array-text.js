// class: memory
// attacks: memory: array text
// want: Memory|Timeout
function sync({parent, children}) {
  `${new Array(1e6).fill('x'.repeat(1e6))}`
  return {};
}
