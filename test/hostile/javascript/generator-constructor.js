// class: host
// attacks: code from text, and the host: generator constructor
// want: Runtime
function sync({parent, children}) {
  (function* () {}).constructor('for (;;);')
  return {};
}
