// class: bypass
// attacks: a way around a guard: split species
// want: Timeout|Runtime|answer
function sync({parent, children}) {
  const r = /a/; r.constructor = {[Symbol.species]: function () { return {exec: () => ({index: 0, length: 2 ** 50})} }}; 'a'.repeat(1e6).split(r); return {}
  return {};
}
