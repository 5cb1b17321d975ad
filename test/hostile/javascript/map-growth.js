// class: loop
// attacks: a loop: map growth
// want: Timeout|Memory
function sync({parent, children}) {
  const m = new Map(); for (let i = 0; ; i++) m.set(i, i)
  return {};
}
