// class: bypass
// attacks: a way around a guard: lying count
// want: answer
function sync({parent, children}) {
  let n = 0; return {a: 'ab'.repeat({valueOf: () => n++ ? 2 ** 62 : 1})}
  return {};
}
