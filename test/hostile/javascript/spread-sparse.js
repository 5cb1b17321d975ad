// class: native
// attacks: a loop in a native function: spread sparse
// want: Timeout|Memory
function sync({parent, children}) {
  const a = []; a.length = 4294967295; [...a]
  return {};
}
