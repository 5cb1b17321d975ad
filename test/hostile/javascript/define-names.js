// class: native
// attacks: definitions whose names are parts of one long text
// want: Memory|Timeout
function sync({parent, children}) {
  const b='x'.repeat(1e6); const o = {}; for (let i = 0; i < 1000; i++) o[b.substring(i)] = {value: 1}
  for (let round = 0; round < 40; round++) Object.defineProperties({}, o)
  return {};
}
