// class: native
// attacks: an iterator that exists when the guard checks it, and does not exist when Array.from does
// want: Runtime
function sync({parent, children}) {
  let asked = 0
  const list = {length: 2 ** 31, get [Symbol.iterator]() { return asked++ > 0 ? undefined : () => ({}) }}
  return {length: Array.from(list).length}
}
