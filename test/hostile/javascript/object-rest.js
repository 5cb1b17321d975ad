// class: native
// attacks: taking a long text apart into an object, a property for each character
// want: Memory|Timeout
function sync() { const {...r} = 'x'.repeat(1.6e7); return {}; }
