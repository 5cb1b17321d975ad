// class: native
// attacks: String.raw of a text, whose parts are its characters
// want: Memory
function sync({parent, children}) {
  const s = 'x'.repeat(1.6e7);
  String.raw({raw: s});
  return {};
}
