// class: error
// attacks: a message: logs
// want: answer|Memory
function sync({parent, children}) {
  const s = 'x'.repeat(1.6e7); for (let i = 0; i < 1e3; i++) console.log(s, [s, s], {s}); return {}
  return {};
}
