// class: native
// attacks: Math.max of a hundred thousand long texts
// want: Memory|Timeout
function sync({parent, children}) {
  const b = '9'.repeat(1.6e7); Math.max(...new Array(100000).fill(b))
  return {};
}
