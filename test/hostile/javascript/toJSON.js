// class: output
// attacks: the answer: toJSON
// want: Stack|Timeout
function sync({parent, children}) {
  const o = {toJSON() { return {o} }}; JSON.stringify(o)
  return {};
}
