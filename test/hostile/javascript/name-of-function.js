// class: error
// attacks: a message: name of function
// want: Stack|Memory|Timeout
function sync({parent, children}) {
  const n = 'x'.repeat(1e7); const o = {[n]() { return o[n]() }}; o[n]()
  return {};
}
