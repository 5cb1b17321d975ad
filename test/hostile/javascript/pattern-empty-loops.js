// class: loop
// attacks: a regular expression: endless repetitions of nothing
// want: Timeout
function sync({parent, children}) {
  return {found: /(?:(?:(?:){2000000000}){2000000000})x/.test('a')};
}
