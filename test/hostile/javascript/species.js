// class: bypass
// attacks: a way around a guard: species
// want: answer|Result|Timeout|Memory|Runtime
function sync({parent, children}) {
  class A extends Array { static get [Symbol.species]() { return function () { return {length: 2 ** 50} } } } new A(1, 2).concat([1])
  return {};
}
