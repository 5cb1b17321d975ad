// class: native
// attacks: a list of a number, which has a length by its prototype
// want: Memory
function sync({parent, children}) {
  Number.prototype.length = 2 ** 50;
  Array.from(5);
  return {};
}
