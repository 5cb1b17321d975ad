// class: error
// attacks: a message: throw deep
// want: Raised
function sync({parent, children}) {
  let a = []; for (let i = 0; i < 1e5; i++) a = [a]; throw a
  return {};
}
