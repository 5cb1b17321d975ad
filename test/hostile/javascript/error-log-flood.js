// class: error
// attacks: printing without end
// want: Timeout
function sync() { for (;;) console.log('x'.repeat(1000)); }
