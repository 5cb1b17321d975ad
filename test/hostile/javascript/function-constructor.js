// class: host
// attacks: code from text, and the host: function constructor
// want: Runtime
function sync({parent, children}) {
  (() => {}).constructor('for (;;);')()
  return {};
}
