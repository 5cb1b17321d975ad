// class: native
// attacks: a pattern that is made again, without case this time
// want: Memory
function sync({parent, children}) {
  return {pattern: String(new RegExp(new RegExp('(?=a)' + '\\S'.repeat(4000)), 'i'))}
}
