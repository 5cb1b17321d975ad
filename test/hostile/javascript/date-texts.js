// class: native
// attacks: Date.UTC of long texts
// want: Memory|Timeout
function sync({parent, children}) {
  const b = '9'.repeat(1.6e7); Date.UTC(b, b, b, b, b, b, b)
  return {};
}
