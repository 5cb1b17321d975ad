// class: native
// attacks: a loop in a native function: map next
// want: Timeout|Memory
function sync({parent, children}) {
  const m = new Map(); const it = {next: m.set.bind(m, 1, 1), [Symbol.iterator]() { return this }}; new Set(it)
  return {};
}
