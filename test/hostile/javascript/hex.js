// class: native
// attacks: a loop in a native function: hex
// want: Timeout|Memory|answer
function sync({parent, children}) {
  return {a: String(+('0x' + 'f'.repeat(1.6e7)))}
  return {};
}
