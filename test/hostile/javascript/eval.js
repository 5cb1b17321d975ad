// class: host
// attacks: code from text, and the host: eval
// want: Runtime
function sync({parent, children}) {
  (0, eval)('('.repeat(1e7))
  return {};
}
