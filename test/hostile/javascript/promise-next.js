// class: native
// attacks: a loop in a native function: promise next
// want: Timeout|Memory
function sync({parent, children}) {
  const P = (async () => {})().constructor; const it = {next: P.resolve.bind(P), [Symbol.iterator]() { return this }}; new Set(it)
  return {};
}
