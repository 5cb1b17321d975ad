// class: loop
// attacks: a loop: thenable
// want: Timeout|Memory
function sync({parent, children}) {
  const t = {then(f) { f(t) }}; return Promise.resolve(t)
  return {};
}
