// class: output
// attacks: the answer: answer deep
// want: Output
function sync({parent, children}) {
  let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return {a}
  return {};
}
