// class: memory
// attacks: a function that gives back its arguments, which are spread twice
// want: Memory|Timeout
function sync({parent, children}) {
  let a = new Array(100000).fill(1); const f = (...r) => r; for (let i = 0; i < 20; i++) a = f(...a, ...a); return {n: a.length}
  return {};
}
