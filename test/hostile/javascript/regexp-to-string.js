// class: memory
// attacks: the text of a pattern, whose source and flags are that text
// want: Memory|Timeout
function sync({parent, children}) {
  let t = 'x'.repeat(1e6); for (let i = 0; i < 20; i++) t = RegExp.prototype.toString.call({source: t, flags: t}); return {n: t.length}
  return {};
}
