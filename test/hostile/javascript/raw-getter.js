// class: memory
// attacks: String.raw of a getter that gives the same text each time
// want: Memory|answer
function sync({parent, children}) {
  const big = 'x'.repeat(1.6e7); return {n: String.raw({raw: {length: 1000, get 0() { return big }}}).length}
  return {};
}
