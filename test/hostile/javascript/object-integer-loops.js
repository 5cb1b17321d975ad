// class: native
// attacks: names that are numbers, gone through in all ways
// want: Memory|Timeout|answer
function sync() { const o = {}; for (let i = 200000; i > 0; i--) o[i] = 1; let n = 0; for (const k in o) n++; const f=({...p}) => p; f(o); return {n, s: JSON.stringify({o}).length, t: Object.entries(o).length, u: {...o}[5]}; }
