// class: stack
// attacks: Go's stack: json deep
// want: Stack
function sync({parent, children}) {
  JSON.parse('['.repeat(1.6e7))
  return {};
}
