// class: output
// attacks: an answer that JSON does not have
// want: Result
function sync() { return {a: 0 / 0}; }
