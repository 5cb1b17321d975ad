// class: native
// attacks: word boundaries, which need look-around in a text that is not ASCII
// want: Timeout|Memory
function sync({parent, children}) {
  return {n: /^(?:a|aa|\b)+$/i.test('a'.repeat(100) + 'é')};
}
