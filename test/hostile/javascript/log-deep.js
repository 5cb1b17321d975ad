// class: error
// attacks: a message: log deep
// want: answer
function sync({parent, children}) {
  let a = []; for (let i = 0; i < 1e5; i++) a = [a]; console.log(a); return {}
  return {};
}
