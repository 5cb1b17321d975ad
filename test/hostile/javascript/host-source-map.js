// class: host
// attacks: a source map, which is a file
// want: answer
function sync() { return {}; }
//# sourceMappingURL=/dev/zero
