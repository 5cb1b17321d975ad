// class: error
// attacks: a message: toString of error
// want: Timeout|Raised
function sync({parent, children}) {
  throw Object.assign(new Error(), {message: {toString() { for (;;); }}})
  return {};
}
