// class: native
// attacks: a loop in a native function: error next
// want: Timeout|Memory
function sync({parent, children}) {
  let E; try { null.x } catch (e) { E = e.constructor } const it = {next: E, [Symbol.iterator]() { return this }}; new Set(it)
  return {};
}
