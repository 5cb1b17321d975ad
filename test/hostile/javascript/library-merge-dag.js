// class: memory
// attacks: merge({}, {"a": x}) of a value with 2^60 parts
// want: Memory|Steps|Timeout
const {merge} = require("metascript");
function sync() {
  let x = ["a"];
  for (let i = 0; i < 60; i++) x = [x, x];
  return {v: merge({}, {"a": x})};
}
