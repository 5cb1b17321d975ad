// class: host
// attacks: a module of Node.js
// want: Module
function sync() { return require('fs'); }
