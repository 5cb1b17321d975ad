// class: memory
// attacks: memory: flat cycle
// want: Stack|Memory
function sync({parent, children}) {
  const a = []; a.push(a); a.flat(Infinity)
  return {};
}
