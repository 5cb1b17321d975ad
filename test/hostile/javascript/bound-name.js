// class: error
// attacks: a bound function with a long name, in a deep stack
// want: Memory|Timeout|answer
function sync({parent, children}) {
  const big = 'x'.repeat(1.6e7); const o = {}; Object.defineProperty(o, 'f', {value: function () {}}); Object.defineProperty(o.f, 'name', {value: big}); let n = 0; const g = (d) => d ? h(d-1) : n = new Error().stack.length; Object.defineProperty(g, 'name', {value: big}); const h = g.bind(null); h(200); return {n}
  return {};
}
