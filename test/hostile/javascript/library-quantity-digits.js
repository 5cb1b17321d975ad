// class: native
// attacks: a quantity of a million digits
// want: Runtime
const {quantity} = require("metascript");
function sync() {
  return {v: quantity.parse("9".repeat(1e6))};
}
