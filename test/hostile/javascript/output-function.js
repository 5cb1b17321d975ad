// class: output
// attacks: an answer that is no data
// want: Result
function sync() { return {a() {}}; }
