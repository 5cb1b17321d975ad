// class: native
// attacks: a regular expression: back-reference
// want: Timeout
function sync({parent, children}) {
  /^(a+)+\1b$/.test('a'.repeat(64))
  return {};
}
