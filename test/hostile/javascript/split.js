// class: native
// attacks: a loop in a native function: split
// want: Memory|Timeout
function sync({parent, children}) {
  'x'.repeat(1.6e7).split('')
  return {};
}
