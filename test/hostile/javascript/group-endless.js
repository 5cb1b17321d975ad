// class: memory
// attacks: Object.groupBy of a generator without end
// want: Memory|Timeout
function sync({parent, children}) {
  return Object.groupBy((function* () { for (;;) yield 'x'.repeat(100) })(), (x, i) => i);
}
