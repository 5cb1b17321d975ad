// class: stack
// attacks: Go's stack: json objects deep
// want: Stack
function sync({parent, children}) {
  JSON.parse('{"a":'.repeat(1e6))
  return {};
}
