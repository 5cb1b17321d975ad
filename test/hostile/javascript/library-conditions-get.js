// class: native
// attacks: looking for a condition in a long list again and again
// want: Memory|Steps|Timeout
const {conditions} = require("metascript");
function sync() {
  const l = new Array(1e5).fill({});
  for (;;) conditions.isTrue(l, "a");
}
