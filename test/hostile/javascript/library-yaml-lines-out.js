// class: memory
// attacks: YAML of a text of many lines, each indented deeply
// want: Memory|Steps|Timeout
const {yaml} = require("metascript");
function sync() {
  let x = "\n".repeat(1 << 22);
  for (let i = 0; i < 90; i++) x = [x];
  return {v: yaml.encode(x)};
}
