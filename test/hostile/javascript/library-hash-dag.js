// class: memory
// attacks: hash(x) of a value with 2^60 parts
// want: Memory|Steps|Timeout
const {hash} = require("metascript");
function sync() {
  let x = ["a"];
  for (let i = 0; i < 60; i++) x = [x, x];
  return {v: hash(x)};
}
