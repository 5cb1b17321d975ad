// class: bypass
// attacks: the name of a function that a promise made
// want: Runtime
function sync({parent, children}) {
  let rs = []; new Promise(r => rs.push(r)); Object.defineProperty(rs[0], 'name', {get() { for (;;); }}); rs[0]({get then() { for (;;); }})
  return {};
}
