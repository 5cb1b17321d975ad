// class: loop
// attacks: a loop: promises
// want: Timeout|Memory
function sync({parent, children}) {
  const f = () => Promise.resolve().then(f); f(); return {}
  return {};
}
