// class: native
// attacks: a text of YAML of comments
// want: Output|Runtime|Memory|Steps|Timeout
const {yaml} = require("metascript");
function sync() {
  return {v: yaml.decode("- #\n".repeat(200000))};
}
