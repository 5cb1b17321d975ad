// class: host
// attacks: a file outside
// want: Module
function sync() { return require('../../../../etc/passwd'); }
