// class: memory
// attacks: the same, with a result that is too large
// want: Memory
function sync({parent, children}) {
  return {n: 'é'.repeat(1e5).replaceAll('', 'x'.repeat(1e4)).length};
}
