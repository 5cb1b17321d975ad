// class: native
// attacks: names that are numbers, sorted again and again
// want: Memory|Timeout|answer
function sync() { const o = {}; for (let i = 100000; i > 0; i--) o[i] = 1; for (;;) { delete o[5]; o[5] = 1; Object.keys(o); } }
