// class: memory
// attacks: memory: doubling
// want: Timeout|Memory
function sync({parent, children}) {
  let s = 'x'.repeat(1e6); for (let i = 0; i < 20; i++) s += s; return {n: s.length}
  return {};
}
