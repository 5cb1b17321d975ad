// class: memory
// attacks: encoding what was encoded, again and again
// want: Stack|Memory|Steps|Timeout
const {base64} = require("metascript");
function sync() {
  let x = "a".repeat(1000);
  for (let i = 0; i < 1000; i++) x = base64.encode(x);
  return {v: x};
}
