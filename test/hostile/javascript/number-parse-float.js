// class: native
// attacks: a float from a long text
// want: Memory|Timeout|answer
function sync() { return {n: parseFloat('0.' + '1'.repeat(30000000)), m: parseFloat(' '.repeat(30000000) + '1')}; }
