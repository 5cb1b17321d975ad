// class: memory
// attacks: a Symbol.toStringTag that is the text of the object before
// want: Memory|Timeout
function sync({parent, children}) {
  let t = 'x'.repeat(1e6); for (let i = 0; i < 20; i++) { const o = {[Symbol.toStringTag]: t}; t = [o, o].join() } return {n: t.length}
  return {};
}
