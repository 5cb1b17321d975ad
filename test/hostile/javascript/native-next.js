// class: native
// attacks: a loop in a native function: native next
// want: Timeout
function sync({parent, children}) {
  const it = {next: Object, [Symbol.iterator]() { return this }}; new Set(it)
  return {};
}
