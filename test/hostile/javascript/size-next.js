// class: native
// attacks: a loop in a native function: size next
// want: Runtime
function sync({parent, children}) {
  const next = Object.getOwnPropertyDescriptor(Map.prototype, 'size').get; const it = {next, [Symbol.iterator]() { return this }}; new Set(it)
  return {};
}
