// class: memory
// attacks: the stack of an error that Promise.any makes
// want: Memory|Timeout
function sync({parent, children}) {
  return (async () => { let m = 'x'.repeat(1e6); for (let i = 0; i < 20; i++) { const e = await Promise.any([]).catch(e => e); e.name = m; e.message = m; m = e.stack } return {n: m.length} })()
}
