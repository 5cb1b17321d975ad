// class: native
// attacks: a native function that makes numbers of a hundred thousand long texts
// want: Memory|Timeout
function sync({parent, children}) {
  const b = '9'.repeat(1e6); String.fromCharCode(...new Array(100000).fill(b))
  return {};
}
