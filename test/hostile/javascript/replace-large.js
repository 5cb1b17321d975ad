// class: native
// attacks: a regular expression: replace large
// want: Memory|Timeout
function sync({parent, children}) {
  'a'.repeat(1e6).replaceAll('a', 'b'.repeat(1e6))
  return {};
}
