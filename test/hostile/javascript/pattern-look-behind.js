// class: native
// attacks: a regular expression: look-behind reads the whole text at each character
// want: Timeout
function sync({parent, children}) {
  return {found: /(?<=^a*b?a*)[az]$/.test('a'.repeat(1e6))};
}
