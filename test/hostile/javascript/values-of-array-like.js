// class: native
// attacks: a loop in a native function: values of array-like
// want: Memory
function sync({parent, children}) {
  [...[].values.call({length: 2 ** 53 - 1})]
  return {};
}
