// class: memory
// attacks: a Symbol.split that exists when the guard checks it, and does not exist when split does
// want: answer
function sync({parent, children}) {
  let asked = 0
  const separator = {toString: () => '', get [Symbol.split]() { return asked++ > 0 ? undefined : () => 1 }}
  return {split: 'ab'.repeat(8e6).split(separator)}
}
