// class: memory
// attacks: structuredClone of what it returned
// want: Memory|Timeout
function sync({parent, children}) {
  let a = [1]; for (;;) a = structuredClone([a, a, structuredClone(a)]);
}
