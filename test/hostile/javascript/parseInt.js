// class: native
// attacks: a loop in a native function: parseInt
// want: Memory|answer|Timeout
function sync({parent, children}) {
  return {a: String(parseInt('9'.repeat(1.6e7)))}
  return {};
}
