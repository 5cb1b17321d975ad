// class: bypass
// attacks: a text as this that changes after the guard has checked it
// want: Memory
function sync({parent, children}) {
  let n = 0; ''.repeat.call({toString: () => n++ ? 'x'.repeat(1e6) : 'x'}, 6e7); ''.repeat.call({toString: () => n++ ? 'x'.repeat(1e6) : 'x'}, 6e7)
  return {};
}
