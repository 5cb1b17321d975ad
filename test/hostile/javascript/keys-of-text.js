// class: memory
// attacks: memory: keys of text
// want: Memory|Timeout
function sync({parent, children}) {
  Object.keys('x'.repeat(1.6e7))
  return {};
}
