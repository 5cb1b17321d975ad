// class: stack
// attacks: a text of YAML with ever more dashes in a line
// want: Runtime|Memory|Steps|Timeout
const {yaml} = require("metascript");
function sync() {
  for (let i = 0; i < 1e6; i++) { try { yaml.decode("- ".repeat(900) + "x"); } catch (e) {} }
}
