// class: output
// attacks: an answer of ten million characters
// want: Output
function sync() { return {a: 'x'.repeat(10000000)}; }
