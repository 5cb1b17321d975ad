// class: native
// attacks: a loop in a native function: default sort
// want: Timeout|Memory
function sync({parent, children}) {
  const a = []; for (let i = 0; i < 2e6; i++) a.push('x'.repeat(20) + (i * 7919 % 1000003)); a.sort(); return {}
  return {};
}
