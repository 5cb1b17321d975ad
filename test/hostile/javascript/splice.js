// class: native
// attacks: a loop in a native function: splice
// want: Memory
function sync({parent, children}) {
  const a = []; a.length = 4294967295; a.splice(1, 2)
  return {};
}
