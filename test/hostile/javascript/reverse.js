// class: native
// attacks: a loop in a native function: reverse
// want: Memory
function sync({parent, children}) {
  Array.prototype.reverse.call({length: 2 ** 53 - 1})
  return {};
}
