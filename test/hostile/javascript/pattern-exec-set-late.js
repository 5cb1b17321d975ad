// class: bypass
// attacks: a text that replaces exec of the pattern while it is converted
// want: Runtime
function sync({parent, children}) {
  const pattern = /a/g;
  const text = {toString() { pattern.exec = Array.of; return 'aaa' }};
  return {all: pattern[Symbol.match](text)};
}
