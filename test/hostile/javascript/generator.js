// class: loop
// attacks: a loop: generator
// want: Timeout|Memory
function sync({parent, children}) {
  function* g() { for (;;) yield 1 } new Set(g())
  return {};
}
