// class: memory
// attacks: a text between all characters
// want: Memory|Timeout
function sync() { return {n: 'a'.repeat(3000000).replaceAll('', 'b'.repeat(1000)).length}; }
