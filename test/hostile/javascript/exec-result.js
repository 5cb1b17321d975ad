// class: bypass
// attacks: a way around a guard: exec result
// want: Timeout|Memory|Runtime|answer
function sync({parent, children}) {
  const r = /a/g; r.exec = () => ({length: 2 ** 50, index: 0, 0: 'a'}); 'aaa'.replace(r, 'x')
  return {};
}
