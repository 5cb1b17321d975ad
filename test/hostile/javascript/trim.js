// class: native
// attacks: trim of a long text
// want: Memory|Timeout
function sync({parent, children}) {
  const a = ' '.repeat(1.6e7); for (;;) a.trim()
  return {};
}
