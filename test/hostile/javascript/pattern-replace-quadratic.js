// class: native
// attacks: a regular expression: each match reads the rest of the text
// want: Timeout|answer
function sync({parent, children}) {
  return {n: 'a'.repeat(3e5).replace(/a(?:[^]*b)?/g, 'y').length};
}
