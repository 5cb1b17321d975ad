// class: native
// attacks: a loop in a native function: array fill
// want: Memory
function sync({parent, children}) {
  new Array(4294967295).fill(1)
  return {};
}
