// class: native
// attacks: a loop in a native function: regexp next
// want: Timeout|Memory
function sync({parent, children}) {
  const it = {next: /x/.constructor, [Symbol.iterator]() { return this }}; new Set(it)
  return {};
}
