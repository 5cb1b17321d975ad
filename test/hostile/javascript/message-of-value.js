// class: memory
// attacks: messages of the interpreter that quote a long text
// want: Memory|Timeout
function sync({parent, children}) {
  const big = '\u0101'.repeat(8e6); const l = []; for (;;) try { null[big + l.length] } catch (e) { l.push(e) }
  return {};
}
