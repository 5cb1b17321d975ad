// class: native
// attacks: a loop in a native function: toSorted
// want: Memory|Runtime
function sync({parent, children}) {
  Array.prototype.toSorted.call({length: 2 ** 50})
  return {};
}
