// class: memory
// attacks: memory: join
// want: Memory|Timeout
function sync({parent, children}) {
  new Array(1e6).fill('x'.repeat(1e6)).join('')
  return {};
}
