// class: native
// attacks: a regular expression: replace capture
// want: Memory|Timeout
function sync({parent, children}) {
  'a'.repeat(1e5).replace(/(?=(a*))a/g, '$1')
  return {};
}
