// class: output
// attacks: an answer of a million values
// want: Output
function sync() { return {a: new Array(1000000).fill(1)}; }
