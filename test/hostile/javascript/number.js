// class: native
// attacks: a loop in a native function: number
// want: answer|Timeout|Memory
function sync({parent, children}) {
  return {a: String(Number('9'.repeat(1.6e7)))}
  return {};
}
