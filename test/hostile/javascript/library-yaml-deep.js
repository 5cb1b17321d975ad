// class: stack
// attacks: a text of YAML that is nested deeply
// want: Runtime
const {yaml} = require("metascript");
function sync() {
  return {v: yaml.decode("[".repeat(100000))};
}
