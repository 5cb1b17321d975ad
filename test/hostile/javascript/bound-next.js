// class: native
// attacks: a loop in a native function: bound next
// want: Timeout|Memory
function sync({parent, children}) {
  const it = {next: Object.bind(), [Symbol.iterator]() { return this }}; new Set(it)
  return {};
}
