// class: bypass
// attacks: a built-in function that has no guard
// want: Runtime
function sync({parent, children}) {
  JSON.rawJSON('1' + ' '.repeat(100))
  return {};
}
