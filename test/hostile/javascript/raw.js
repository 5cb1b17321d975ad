// class: native
// attacks: a loop in a native function: raw
// want: Memory
function sync({parent, children}) {
  String.raw({raw: {length: 2 ** 50}})
  return {};
}
