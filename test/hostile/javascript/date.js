// class: native
// attacks: a loop in a native function: date
// want: Memory
function sync({parent, children}) {
  new Date('1'.repeat(1e7))
  return {};
}
