// class: native
// attacks: isNaN of a long text
// want: Memory|Timeout
function sync({parent, children}) {
  const b = '9'.repeat(1.6e7); for (;;) isNaN(b)
  return {};
}
