// class: native
// attacks: a regular expression: back-references to long groups
// want: Timeout
function sync({parent, children}) {
  return {found: /(a*)(a*)\1\2\1\2b/.test('a'.repeat(30000))};
}
