// class: loop
// attacks: a regular expression: a search at each place, one after the other
// want: Timeout
function sync({parent, children}) {
  const text = 'a'.repeat(1e5), pattern = /a*?b/y;
  for (let at = 0; ; at = (at + 1) % 1e5) { pattern.lastIndex = at; pattern.test(text) }
}
