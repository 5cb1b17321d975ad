// class: stack
// attacks: structuredClone of deeply nested data
// want: Stack|Timeout|Memory
function sync({parent, children}) {
  let o = {}; for (let i = 0; i < 1e6; i++) o = {o}; return {o: structuredClone(o)};
}
