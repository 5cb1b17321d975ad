// class: bypass
// attacks: a pattern that is another one when it is read again
// want: answer|Runtime
function sync({parent, children}) {
  let n = 0;
  const source = {toString: () => n++ ? '(?:' + 'a?'.repeat(999) + '){999}b' : 'a'};
  return {found: new RegExp(source, {toString: () => n++ ? '' : 'g'}).test('a'.repeat(1e5))};
}
