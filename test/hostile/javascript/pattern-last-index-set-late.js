// class: bypass
// attacks: a replacement that sets, while it is converted, where the search begins
// want: answer
function sync({parent, children}) {
  const pattern = /(?:a|aa)+b/y;
  const replacement = {toString() { pattern.lastIndex = 1; return 'x' }};
  return {text: 'a'.repeat(60).replace(pattern, replacement)};
}
