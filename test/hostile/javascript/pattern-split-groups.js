// class: memory
// attacks: a regular expression: split lists the groups of each separator
// want: Memory|Timeout
function sync({parent, children}) {
  return {n: 'a'.repeat(1e6).split(new RegExp('(a)' + '()'.repeat(500))).length};
}
