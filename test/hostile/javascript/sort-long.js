// class: native
// attacks: a loop in a native function: sort long
// want: Timeout|Memory|answer
function sync({parent, children}) {
  const p = 'x'.repeat(1e6); const a = []; for (let i = 0; i < 60; i++) a.push(p + i % 7); for (let i = 0; i < 1e9; i++) a.sort(); return {}
  return {};
}
