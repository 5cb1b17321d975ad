// class: error
// attacks: a message: stack text
// want: Stack|Memory|Timeout|answer
function sync({parent, children}) {
  const n = 'x'.repeat(1e7); let d = 0; const o = {[n]() { return d++ < 300 ? o[n]() : new Error().stack }}; return {n: o[n]().length}
  return {};
}
