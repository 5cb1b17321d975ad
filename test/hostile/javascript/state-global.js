// class: state
// attacks: a global that a call sets
// want: answer
function sync() {
  const seen = globalThis.seen;
  globalThis.seen = 1;
  if (seen) throw new Error('it is still there');
  return {};
}
