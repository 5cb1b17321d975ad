// class: loop
// attacks: a loop: growth
// want: Timeout|Memory
function sync({parent, children}) {
  const a = []; for (;;) a.push({})
  return {};
}
