// class: memory
// attacks: a regular expression: lists of thousands of groups, in an empty text
// want: answer|Memory
function sync({parent, children}) {
  return {found: new RegExp('(a?)'.repeat(6000) + '$').test('')};
}
