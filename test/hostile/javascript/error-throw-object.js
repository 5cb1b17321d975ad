// class: error
// attacks: an object whose text runs code
// want: Timeout|error
function sync() { throw {toString() { for (;;); }, get message() { for (;;); }}; }
