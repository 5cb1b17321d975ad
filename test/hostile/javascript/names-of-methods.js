// class: memory
// attacks: names of methods, getters and symbols
// want: Memory|Timeout
function sync({parent, children}) {
  let s = 'x'.repeat(1e6); for (let i = 0; i < 40; i++) { const o = {[s](){}, get [s + 'y']() {}}; s = o[s].name + Object.getOwnPropertyDescriptor(o, s + 'y').get.name } return {n: s.length}
  return {};
}
