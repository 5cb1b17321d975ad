// class: bypass
// attacks: a pattern that says that it is none, and whose text is not counted
// want: Timeout|Memory
function sync({parent, children}) {
  const pattern = /x/
  pattern[Symbol.match] = false
  pattern.toString = () => '((a|b)*c)|'.repeat(400_000)
  for (;;) new RegExp(pattern)
}
