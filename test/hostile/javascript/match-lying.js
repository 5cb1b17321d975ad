// class: native
// attacks: a method that matches, which is there when the guard asks, and not when match does: a pattern that nobody counted
// want: answer
function sync({parent, children}) {
  let asked = 0
  const pattern = {
    toString: () => '((a|b)*c)|'.repeat(400_000), get [Symbol.match]() { return asked++ > 0 ? undefined : () => 1 },
  }
  return {found: 'ab'.repeat(1e5).match(pattern)}
}
