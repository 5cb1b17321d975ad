// class: error
// attacks: a message: message getter
// want: Timeout
function sync({parent, children}) {
  const e = new Error(); Object.defineProperty(e, 'message', {get() { for (;;); }}); throw e
  return {};
}
