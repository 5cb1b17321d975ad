// class: error
// attacks: an object whose text runs code
// want: error
function sync() { throw {toString() { for (;;); }, get message() { for (;;); }}; }
