// class: native
// attacks: loops over a number, which has a length by its prototype
// want: Memory
function sync({parent, children}) {
  Number.prototype.length = 2 ** 50;
  [].indexOf.call(5, 1);
  return {};
}
