// class: state
// attacks: where a regular expression of the top level was
// want: answer
const r = /a/g;
function sync() {
  if (r.lastIndex) throw new Error('it is still there');
  r.test('aa');
  return {};
}
