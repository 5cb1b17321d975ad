// class: native
// attacks: JSON with an indentation of many blanks
// want: Runtime
const {json} = require("metascript");
function sync() {
  return {v: json.encode([[]], 2 ** 40)};
}
