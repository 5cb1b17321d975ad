// class: bypass
// attacks: a field of a class is defined on a native function as its name
// want: Runtime
function sync({parent, children}) {
  class A { constructor(o) { return o } } class B extends A { ['na' + 'me'] = {toString() { for (;;); }} } new B([].forEach); const f = () => [1].forEach(() => { throw new Error() }); f()
  return {};
}
