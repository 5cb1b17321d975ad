// class: native
// attacks: a loop in a native function: huge indexOf
// want: Timeout
function sync({parent, children}) {
  const s = 'ä'.repeat(1e7); s.indexOf('ä'.repeat(5e6) + 'b')
  return {};
}
