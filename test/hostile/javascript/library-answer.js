// class: output
// attacks: an answer that the library made too large
// want: Output|Memory|Steps|Timeout
const {yaml} = require("metascript");
function sync() {
  return {v: Array.from({length: 1000}, () => yaml.decode("[" + "a, ".repeat(1000) + "]"))};
}
