// class: native
// attacks: a loop in a native function: require next
// want: Module
function sync({parent, children}) {
  const it = {next: require.bind(null, './x'), [Symbol.iterator]() { return this }}; new Set(it)
  return {};
}
