// class: loop
// attacks: adding quantities without end
// want: Memory|Steps|Timeout
const {quantity} = require("metascript");
function sync() {
  let x = "0";
  for (;;) x = quantity.add(x, "1n");
}
