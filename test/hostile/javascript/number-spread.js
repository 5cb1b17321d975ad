// class: native
// attacks: the concatenation of a number, which has a length by its prototype
// want: Memory
function sync({parent, children}) {
  Number.prototype.length = 2 ** 50;
  Number.prototype[Symbol.isConcatSpreadable] = true;
  [].concat.call(5);
  return {};
}
