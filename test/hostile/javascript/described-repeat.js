// class: bypass
// attacks: a way around a guard: described repeat
// want: Memory
function sync({parent, children}) {
  Object.getOwnPropertyDescriptor(String.prototype, 'repeat').value.call('a', 1e9)
  return {};
}
