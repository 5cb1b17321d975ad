// class: host
// attacks: code from text, and the host: async constructor
// want: Runtime
function sync({parent, children}) {
  (async () => {}).constructor('for (;;);')
  return {};
}
