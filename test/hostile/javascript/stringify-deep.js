// class: stack
// attacks: Go's stack: stringify deep
// want: Stack
function sync({parent, children}) {
  let a = []; for (let i = 0; i < 1e5; i++) a = [a]; JSON.stringify(a)
  return {};
}
