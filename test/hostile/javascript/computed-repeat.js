// class: bypass
// attacks: a way around a guard: computed repeat
// want: Memory
function sync({parent, children}) {
  const r = 're' + 'peat'; 'a'[r](1e9)
  return {};
}
