// class: native
// attacks: a loop in a native function: native next destructuring
// want: Timeout|Memory
function sync({parent, children}) {
  const it = {next: Object, [Symbol.iterator]() { return this }}; const [...a] = it
  return {};
}
