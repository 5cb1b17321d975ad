// class: memory
// attacks: merging what was merged into itself
// want: Stack|Runtime|Memory|Steps|Timeout
const {merge} = require("metascript");
function sync() {
  let x = {a: "b".repeat(1000)};
  for (let i = 0; i < 1000; i++) x = merge({x, y: x}, {z: x});
  return {v: x};
}
