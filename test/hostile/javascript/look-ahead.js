// class: native
// attacks: a regular expression: look-ahead
// want: answer|Result|Timeout
function sync({parent, children}) {
  /^(?=(a+)+b)x/.exec('a'.repeat(64))
  return {};
}
