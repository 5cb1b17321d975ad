// class: state
// attacks: a method that is replaced
// want: answer
function sync() {
  if ([1].map(x => x + 1)[0] !== 2) throw new Error('it is still there');
  Array.prototype.map = () => [3];
  return {};
}
