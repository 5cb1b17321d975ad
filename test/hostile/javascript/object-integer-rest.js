// class: native
// attacks: names that are numbers, in a pattern with a rest
// want: Memory|Timeout|Output
function sync() { const o = {}; for (let i = 200000; i > 0; i--) o[i] = 1; const {a, ...rest} = o; return rest; }
