// class: memory
// attacks: an array that is called length
// want: Memory|Timeout
function sync({parent, children}) {
  let o = {length: [1]}; for (let i = 0; i < 40; i++) o.length = o.length + o.length; return {n: o.length.length}
  return {};
}
