// class: host
// attacks: code from text, and the host: function
// want: Runtime
function sync({parent, children}) {
  new Function('for (;;);')()
  return {};
}
