// class: memory
// attacks: fields of classes, made of those of the class before
// want: Memory|Timeout
function sync({parent, children}) {
  let s = 'x'.repeat(1e6); for (let i = 0; i < 40; i++) { class A { f = s + s; static g = s + s; ['k'] = s + s }; s = new A().f } return {n: s.length}
  return {};
}
