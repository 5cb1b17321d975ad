// class: native
// attacks: Promise.all of a generator without end
// want: Memory|Timeout
function sync({parent, children}) {
  class P { constructor(f) { f(() => {}, () => {}) } static resolve(x) { return {then() {}} } } Promise.all.call(P, (function* () { for (;;) yield 1 })())
  return {};
}
