// class: memory
// attacks: memory: join separator
// want: Memory|Timeout
function sync({parent, children}) {
  new Array(1e6).join('x'.repeat(1e6))
  return {};
}
