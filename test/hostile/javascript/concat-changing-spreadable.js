// class: native
// attacks: a list that is not spreadable when the guard checks it, and is spreadable when concat does
// want: answer
function sync({parent, children}) {
  let asked = 0
  const list = {length: 2 ** 52, get [Symbol.isConcatSpreadable]() { return asked++ > 0 }}
  return {length: [].concat(list).length}
}
