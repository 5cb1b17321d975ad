// class: host
// attacks: a file of the host
// want: Module
function sync() { return require('/etc/passwd'); }
