// class: native
// attacks: a loop in a native function: array call
// want: Memory
function sync({parent, children}) {
  Array(4294967295)
  return {};
}
