// class: bypass
// attacks: a pattern whose method gets what the guard replaces by, and calls it without arguments
// want: Runtime
function sync({parent, children}) {
  const pattern = /x/
  pattern[Symbol.replace] = (text, replace) => replace()
  return {text: 'a'.replace(pattern, '$&')}
}
