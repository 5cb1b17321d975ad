// class: native
// attacks: a loop in a native function: normalize
// want: Memory|Timeout
function sync({parent, children}) {
  '\u0301'.repeat(1e7).normalize('NFD')
  return {};
}
