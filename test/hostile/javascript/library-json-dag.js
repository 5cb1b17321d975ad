// class: memory
// attacks: json.encode(x) of a value with 2^60 parts
// want: Memory|Steps|Timeout
const {json} = require("metascript");
function sync() {
  let x = ["a"];
  for (let i = 0; i < 60; i++) x = [x, x];
  return {v: json.encode(x)};
}
