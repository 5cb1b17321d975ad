// class: bypass
// attacks: a way around a guard: destructured repeat
// want: Memory
function sync({parent, children}) {
  const {repeat} = ''; repeat.call('a', 1e9)
  return {};
}
