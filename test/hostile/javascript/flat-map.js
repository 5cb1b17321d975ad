// class: memory
// attacks: memory: flat map
// want: Memory
function sync({parent, children}) {
  const b = []; b.length = 4294967295; [1].flatMap(() => b)
  return {};
}
