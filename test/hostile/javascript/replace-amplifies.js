// class: native
// attacks: a regular expression: replace amplifies
// want: Memory|Timeout
function sync({parent, children}) {
  'a'.repeat(1e5).replace(/a/g, '$`')
  return {};
}
