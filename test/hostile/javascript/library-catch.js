// class: bypass
// attacks: catching what the library refuses
// want: Memory|Steps|Timeout
const {json} = require("metascript");
function sync() {
  for (;;) { try { json.encode(new Array(1e6).fill("a")); } catch (e) {} }
}
