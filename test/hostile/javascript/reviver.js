// class: stack
// attacks: Go's stack: reviver
// want: Stack|Timeout|Memory|Runtime
function sync({parent, children}) {
  let a = []; for (let i = 0; i < 1e5; i++) a = [a]; JSON.parse('[1,2]', function (k, v) { if (k === '0') this[1] = a; return v })
  return {};
}
