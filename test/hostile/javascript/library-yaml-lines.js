// class: native
// attacks: reading texts of YAML again and again
// want: Memory|Steps|Timeout
const {yaml} = require("metascript");
function sync() {
  const text = "- a: [b, c]\n".repeat(10000);
  for (let i = 0; i < 1e6; i++) yaml.decode(text);
}
