// class: native
// attacks: a set of one long text, many times
// want: Memory|Timeout|answer
function sync() { const b = '\u4e00'.repeat(5000000); return {n: new Set(new Array(500000).fill(b)).size}; }
