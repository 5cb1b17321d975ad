// class: native
// attacks: word boundaries, which need look-around in a text that is not ASCII
// want: Timeout|Memory
function sync({parent, children}) {
  return {n: /^(?:\b(?:\w+)+\b ?)+$/i.test('a'.repeat(40) + 'é')};
}
