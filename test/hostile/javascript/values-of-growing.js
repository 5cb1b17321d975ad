// class: native
// attacks: a loop in a native function: values of growing
// want: Timeout|Memory
function sync({parent, children}) {
  const a = []; const it = a.values(); a.length = 4294967295; for (const x of [...it]);
  return {};
}
