// class: native
// attacks: decoding a long text again and again
// want: Runtime|Memory|Steps|Timeout
const {base64} = require("metascript");
function sync() {
  const x = "YWFh".repeat(1 << 20);
  for (let i = 0; i < 1e6; i++) base64.decode(x);
}
