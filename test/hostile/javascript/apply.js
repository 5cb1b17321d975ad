// class: native
// attacks: a loop in a native function: apply
// want: Memory
function sync({parent, children}) {
  Math.max.apply(null, {length: 2 ** 32})
  return {};
}
