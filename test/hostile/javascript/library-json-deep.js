// class: stack
// attacks: a text of JSON that is nested deeply
// want: Runtime
const {json} = require("metascript");
function sync() {
  return {v: json.decode("[".repeat(1e7))};
}
