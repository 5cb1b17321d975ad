// class: native
// attacks: a loop in a native function: concat spreadable
// want: Memory
function sync({parent, children}) {
  [].concat({length: 2 ** 50, [Symbol.isConcatSpreadable]: true})
  return {};
}
