// class: memory
// attacks: String.raw of objects that give a text
// want: Memory
function sync({parent, children}) {
  const b = 'x'.repeat(1.6e7); return {n: String.raw({raw: new Array(100000).fill({toString() { return b }})}).length}
  return {};
}
