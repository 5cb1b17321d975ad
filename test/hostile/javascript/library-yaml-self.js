// class: stack
// attacks: a text of YAML with an anchor that contains itself
// want: Runtime
const {yaml} = require("metascript");
function sync() {
  return {v: yaml.decode("&a [*a, {<<: *a}]")};
}
