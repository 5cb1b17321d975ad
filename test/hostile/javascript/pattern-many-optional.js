// class: native
// attacks: a regular expression: thousands of optional characters
// want: Timeout
function sync({parent, children}) {
  return {found: new RegExp('a?'.repeat(4990) + 'z').test('a'.repeat(19000))};
}
