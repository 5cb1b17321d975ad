// class: memory
// attacks: memory: spread of text
// want: Memory|Timeout
function sync({parent, children}) {
  return {a: {...'x'.repeat(1.6e7)}}
  return {};
}
