// class: memory
// attacks: replaceAll of an empty text in a text that is not ASCII, in which goja finds places without end
// want: answer
function sync({parent, children}) {
  return {status: {n: 'é'.replaceAll('', 'x'), m: '日本'.repeat(10).replaceAll('', () => '-').length}};
}
