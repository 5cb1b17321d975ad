// class: native
// attacks: a loop in a native function: getter length
// want: Memory|Timeout|answer
function sync({parent, children}) {
  let n = 0; return {a: Array.from({get length() { return n++ ? 2 ** 40 : 1 }}).length}
  return {};
}
