// class: memory
// attacks: a regular expression: long texts that are converted again and again
// want: Timeout|Memory
function sync({parent, children}) {
  const a = 'a'.repeat(3e6), b = 'b'.repeat(3e6);
  for (;;) { /(?=z)z/.test(a); /(?=z)z/.test(b) }
}
