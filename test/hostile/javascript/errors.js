// class: error
// attacks: a message: errors
// want: Raised
function sync({parent, children}) {
  throw new Error('x'.repeat(1.6e7))
  return {};
}
