// class: native
// attacks: copies of an object whose names are parts of one long text
// want: Memory|Timeout
function sync({parent, children}) {
  const b = 'x'.repeat(1.6e7); const l = {}; for (let i = 0; i < 1000; i++) l[b.substring(i)] = 1; Object.assign({}, l)
  return {};
}
