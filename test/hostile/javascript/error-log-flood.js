// class: error
// attacks: printing for ever
// want: Timeout
function sync() { for (;;) console.log('x'.repeat(1000)); }
