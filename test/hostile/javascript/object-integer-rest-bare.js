// class: native
// attacks: names that are numbers, of an object without prototype, in a pattern with a rest
// want: Memory|Timeout|Output
function sync() { const o = Object.create(null); for (let i = 200000; i > 0; i--) o[i] = 1; const {a, ...rest} = o; return rest; }
