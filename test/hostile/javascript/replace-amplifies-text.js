// class: native
// attacks: a regular expression: replace amplifies text
// want: Memory|Timeout
function sync({parent, children}) {
  'a'.repeat(1e5).replaceAll('a', "$'")
  return {};
}
