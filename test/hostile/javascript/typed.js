// class: native
// attacks: a loop in a native function: typed
// want: Runtime
function sync({parent, children}) {
  new Uint8Array(2 ** 32)
  return {};
}
