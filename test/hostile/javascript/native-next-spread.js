// class: native
// attacks: a loop in a native function: native next spread
// want: Timeout|Memory
function sync({parent, children}) {
  const it = {next: Object, [Symbol.iterator]() { return this }}; [...it]
  return {};
}
