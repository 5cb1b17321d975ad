// class: native
// attacks: a loop in a native function: sparse sort
// want: Memory
function sync({parent, children}) {
  const a = []; a[4294967290] = 1; a.sort()
  return {};
}
