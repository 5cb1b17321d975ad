// class: memory
// attacks: a regular expression: an object for each empty match
// want: Memory|Timeout
function sync({parent, children}) {
  return {n: [...'a'.repeat(2e6).matchAll(/(?<none>x)?()()()()()/g)].length};
}
