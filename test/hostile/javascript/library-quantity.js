// class: native
// attacks: a quantity with an exponent of a billion
// want: Runtime
const {quantity} = require("metascript");
function sync() {
  return {v: quantity.add("1e1000000000", "1")};
}
