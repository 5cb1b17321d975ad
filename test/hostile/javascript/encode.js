// class: memory
// attacks: memory: encode
// want: Memory|Timeout
function sync({parent, children}) {
  encodeURIComponent('ä'.repeat(3e7))
  return {};
}
