// class: stack
// attacks: Go's stack: text deep
// want: Stack|Timeout
function sync({parent, children}) {
  let a = []; for (let i = 0; i < 1e5; i++) a = [a]; String(a)
  return {};
}
