// class: native
// attacks: a text of YAML of 32 MiB
// want: Runtime|Memory|Steps|Timeout
const {yaml} = require("metascript");
function sync() {
  return {v: yaml.decode("a\n".repeat(1 << 24))};
}
