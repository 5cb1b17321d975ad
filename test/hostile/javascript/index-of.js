// class: native
// attacks: a loop in a native function: index of
// want: Memory
function sync({parent, children}) {
  Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)
  return {};
}
