// class: state
// attacks: a property of a function
// want: answer
function sync() {
  if (sync.seen) throw new Error('it is still there');
  sync.seen = 1;
  return {};
}
