// class: bypass
// attacks: a way around a guard: call of call
// want: Memory
function sync({parent, children}) {
  Function.prototype.call.call(''.repeat, 'a', 1e9)
  return {};
}
