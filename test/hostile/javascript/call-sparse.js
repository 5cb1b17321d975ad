// class: native
// attacks: a loop in a native function: call sparse
// want: Timeout|Memory
function sync({parent, children}) {
  const a = []; a.length = 4294967295; Math.max(...a)
  return {};
}
