// class: native
// attacks: a pattern of four thousand kinds of characters, which are looked up without case
// want: Memory
function sync({parent, children}) {
  return {pattern: String(new RegExp('(?=a)' + '\\S'.repeat(4000), 'i'))}
}
