// class: memory
// attacks: memory: encode
// want: Memory|Timeout
function sync({parent, children}) {
  encodeURIComponent('ä'.repeat(1.6e7))
  return {};
}
