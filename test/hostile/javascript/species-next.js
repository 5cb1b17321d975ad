// class: native
// attacks: a loop in a native function: species next
// want: Timeout
function sync({parent, children}) {
  const next = Object.getOwnPropertyDescriptor(Map, Symbol.species).get; const it = {next, [Symbol.iterator]() { return this }}; new Set(it)
  return {};
}
