// class: loop
// attacks: a loop while the file is loaded
// want: Timeout
for (;;);
function sync() { return {}; }
