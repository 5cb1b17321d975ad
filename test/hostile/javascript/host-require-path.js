// class: host
// attacks: a file of the host's
// want: Module
function sync() { return require('/etc/passwd'); }
