// class: state
// attacks: an exported variable of a namespace
// want: answer
namespace n { export let calls = 0; }
function sync() { n.calls++; if (n.calls > 1) throw new Error('state was kept'); return {}; }
