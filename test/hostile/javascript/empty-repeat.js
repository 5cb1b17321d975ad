// class: native
// attacks: a loop in a native function: empty repeat
// want: answer
function sync({parent, children}) {
  return {a: ''.repeat(2 ** 50)}
  return {};
}
