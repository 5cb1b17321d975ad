// Prints the properties of emoji, for runtimes/internal/pattern. Run it by "make builtins".
'use strict'

console.log(`# The emoji properties of Unicode, which Go's package unicode lacks: each range is its distance from the one before, and + its length,
# in hexadecimal. Written by "make builtins", with Node.js.`)
for (const name of ['Emoji', 'Emoji_Component', 'Emoji_Modifier', 'Emoji_Modifier_Base', 'Emoji_Presentation', 'Extended_Pictographic']) {
  const has = new RegExp(`\\p{${name}}`, 'u')
  const parts = []
  let last = 0
  for (let c = 0; c <= 0x10ffff; c++) {
    if (!has.test(String.fromCodePoint(c))) continue
    const first = c
    while (has.test(String.fromCodePoint(c + 1))) c++
    parts.push((first - last).toString(16) + (c > first ? '+' + (c - first).toString(16) : ''))
    last = c
  }
  console.log(name + ' ' + parts.join(' '))
}
