// class: memory
// attacks: memory: concat doubling
// want: Memory|Timeout
function sync({parent, children}) {
  let a = [1]; for (;;) a = a.concat(a)
  return {};
}
