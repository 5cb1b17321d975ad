// class: error
// attacks: a native function whose name is a getter without end, which the interpreter asks for while it stops
// want: Runtime
function sync({parent, children}) {
  const big = 'x'.repeat(1.6e7);Object.defineProperty(Array.prototype.forEach, 'name', {get() { for (;;); }}); let n = 0; const f = d => d ? [1].forEach(() => f(d-1)) : n = new Error().stack.length; f(200); return {n}
  return {};
}
