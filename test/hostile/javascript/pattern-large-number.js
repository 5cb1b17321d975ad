// class: native
// attacks: a regular expression: the largest numbers of repetitions
// want: answer|Timeout
function sync({parent, children}) {
  return {found: /^(?:a{0,99999999999}){99999999999,}$/.test('a'.repeat(1e5) + 'b')};
}
