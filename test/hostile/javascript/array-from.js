// class: native
// attacks: a loop in a native function: array from
// want: Memory
function sync({parent, children}) {
  Array.from({length: 2 ** 40})
  return {};
}
