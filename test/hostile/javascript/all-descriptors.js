// class: bypass
// attacks: a way around a guard: all descriptors
// want: Memory
function sync({parent, children}) {
  Object.getOwnPropertyDescriptors(String.prototype).repeat.value.call('a', 1e9)
  return {};
}
