// class: bypass
// attacks: a place where a search begins that is another one when it is read again
// want: answer
function sync({parent, children}) {
  let n = 0;
  const pattern = /(?:a|aa)+b/g;
  pattern.lastIndex = {valueOf: () => n++ ? 1 : 0};
  return {found: pattern.test('a'.repeat(60))};
}
