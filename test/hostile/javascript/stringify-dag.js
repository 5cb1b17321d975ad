// class: stack
// attacks: Go's stack: stringify dag
// want: Memory|Timeout
function sync({parent, children}) {
  let a = 'x'; for (let i = 0; i < 60; i++) a = [a, a]; JSON.stringify(a)
  return {};
}
