// class: native
// attacks: a loop in a native function: from entries
// want: Timeout|Runtime
function sync({parent, children}) {
  const it = {next: Object, [Symbol.iterator]() { return this }}; Object.fromEntries(it)
  return {};
}
