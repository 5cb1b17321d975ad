// class: native
// attacks: a Symbol.match that exists when the guard checks it, and does not exist when match does: the pattern is not counted
// want: answer
function sync({parent, children}) {
  let asked = 0
  const pattern = {
    toString: () => '((a|b)*c)|'.repeat(400_000), get [Symbol.match]() { return asked++ > 0 ? undefined : () => 1 },
  }
  return {found: 'ab'.repeat(1e5).match(pattern)}
}
