// class: native
// attacks: a loop in a native function: bigint global
// want: Runtime
function sync({parent, children}) {
  globalThis['Big' + 'Int'](7)
  return {};
}
