// class: native
// attacks: a text of JSON with a number of a million digits
// want: Runtime|Memory|Steps|Timeout
const {json} = require("metascript");
function sync() {
  for (let i = 0; i < 1e6; i++) try { json.decode("9".repeat(1e6) + ".5"); } catch (e) {}
}
