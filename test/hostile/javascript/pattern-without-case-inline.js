// class: native
// attacks: the same, by a flag within the pattern
// want: Memory
function sync({parent, children}) {
  return {pattern: String(new RegExp('(?i)(?=a)' + '\\W.'.repeat(2000)))}
}
