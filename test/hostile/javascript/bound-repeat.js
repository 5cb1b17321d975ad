// class: bypass
// attacks: a way around a guard: bound repeat
// want: Memory
function sync({parent, children}) {
  ''.repeat.bind('a', 1e9)()
  return {};
}
