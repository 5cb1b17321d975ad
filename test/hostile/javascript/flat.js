// class: memory
// attacks: memory: flat
// want: Memory|Timeout
function sync({parent, children}) {
  let a = [1]; for (let i = 0; i < 60; i++) a = [a, a]; a.flat(Infinity)
  return {};
}
