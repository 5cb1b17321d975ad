// class: native
// attacks: a regular expression: look-ahead global
// want: Timeout
function sync({parent, children}) {
  'a'.repeat(5000).replace(/(?=(a+)+b)x|a/g, 'y')
  return {};
}
