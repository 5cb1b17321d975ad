// class: native
// attacks: a loop in a native function: reflect apply
// want: Memory
function sync({parent, children}) {
  Reflect.apply(Math.max, null, {length: 2 ** 32})
  return {};
}
