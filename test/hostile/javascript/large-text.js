// class: native
// attacks: a regular expression: large text
// want: Timeout
function sync({parent, children}) {
  /((a?){20}){20}b/.test('a'.repeat(1e6))
  return {};
}
