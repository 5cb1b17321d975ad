// class: memory
// attacks: long texts of two bytes a character
// want: Memory|Timeout
function sync({parent, children}) {
  const big = '\u0101'.repeat(8e6); const l = []; for (;;) l.push(big + 'y')
  return {};
}
