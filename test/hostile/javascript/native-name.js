// class: error
// attacks: a native function with a long name, in a deep stack
// want: Runtime
function sync({parent, children}) {
  const big = 'x'.repeat(1.6e7);Object.defineProperty(Array.prototype.forEach, 'name', {value: big}); let n = 0; const f = d => d ? [1].forEach(() => f(d-1)) : n = new Error().stack.length; f(200); return {n}
  return {};
}
