// class: native
// attacks: a loop in a native function: locale
// want: Memory|Timeout
function sync({parent, children}) {
  const s = 'x'.repeat(1.6e7); s.localeCompare(s + 'y')
  return {};
}
