// class: error
// attacks: an error whose properties run code
// want: Timeout|error
function sync() {
  const e = new Error('x');
  for (const k of ['name', 'message', 'stack', 'toString']) Object.defineProperty(e, k, {get() { for (;;); }});
  throw e;
}
