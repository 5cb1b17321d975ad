// class: native
// attacks: a loop in a native function: promise all
// want: Timeout|Memory
function sync({parent, children}) {
  const it = {next: Object, [Symbol.iterator]() { return this }}; Promise.all(it); return {}
  return {};
}
