// class: native
// attacks: a loop in a native function: sparse text
// want: Memory
function sync({parent, children}) {
  const a = []; a.length = 4294967295; return {a: a + ''}
  return {};
}
