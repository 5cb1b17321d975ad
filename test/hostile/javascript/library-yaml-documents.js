// class: native
// attacks: a text of YAML of many documents
// want: Output|Runtime|Memory|Steps|Timeout
const {yaml} = require("metascript");
function sync() {
  return {v: yaml.decodeAll("---\na: 1\n".repeat(100000))};
}
