// class: state
// attacks: the registry of symbols
// want: answer
const s = Symbol.for('seen');
function sync() {
  if (globalThis[s]) throw new Error('it is still there');
  globalThis[s] = 1;
  return {};
}
