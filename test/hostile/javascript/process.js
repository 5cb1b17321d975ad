// class: host
// attacks: code from text, and the host: process
// want: Runtime
function sync({parent, children}) {
  process.exit()
  return {};
}
