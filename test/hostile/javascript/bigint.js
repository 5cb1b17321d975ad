// class: native
// attacks: a loop in a native function: bigint
// want: Syntax
function sync({parent, children}) {
  7n ** 50000000n
  return {};
}
