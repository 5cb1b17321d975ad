// class: bypass
// attacks: a text that is another one when it is read again
// want: answer|Timeout
function sync({parent, children}) {
  let n = 0;
  const text = {toString: () => 'a'.repeat(n++ ? 1e6 : 1)};
  return {found: new RegExp('a?'.repeat(4990) + 'z').test(text)};
}
