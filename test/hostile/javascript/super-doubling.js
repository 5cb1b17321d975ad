// class: memory
// attacks: a constructor whose arguments are spread twice
// want: Memory|Timeout
function sync({parent, children}) {
  class A { constructor(...r) { this.r = r } } class C extends A { constructor(a) { super(...a, ...a) } } let a = new Array(100000).fill(1); for (let i = 0; i < 20; i++) a = new C(a).r; return {n: a.length}
  return {};
}
