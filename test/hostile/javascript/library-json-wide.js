// class: memory
// attacks: a text of JSON with a value without endy two bytes
// want: Memory|Steps|Timeout
const {json} = require("metascript");
function sync() {
  return {v: json.decode("[" + "0,".repeat(2e6) + "0]")};
}
