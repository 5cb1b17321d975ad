// class: memory
// attacks: the property of an object that grows, and is kept
// want: Memory|Timeout
function sync({parent, children}) {
  const o = {s: ''}; const l = []; const y = 'y'.repeat(15e6); for (;;) { o.s += y; l.push(o.s) }
  return {};
}
