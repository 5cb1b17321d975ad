// class: bypass
// attacks: a way around a guard: reflected repeat
// want: Memory
function sync({parent, children}) {
  Reflect.get(String.prototype, 'repeat').apply('a', [1e9])
  return {};
}
