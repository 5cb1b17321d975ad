// class: native
// attacks: a pattern with many classes that have many ranges
// want: Memory
function sync({parent, children}) {
  return {pattern: String(new RegExp('[\\p{L}\\p{N}]'.repeat(600), 'iu'))};
}
