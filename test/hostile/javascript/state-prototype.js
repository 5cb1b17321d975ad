// class: state
// attacks: a method added to all objects
// want: answer
function sync() {
  if ({}.seen) throw new Error('it is still there');
  Object.prototype.seen = 1;
  return {};
}
