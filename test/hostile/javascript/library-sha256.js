// class: native
// attacks: the SHA-256 of a long text again and again
// want: Memory|Steps|Timeout
const {sha256} = require("metascript");
function sync() {
  const x = "a".repeat(1 << 25);
  for (let i = 0; i < 1e6; i++) sha256(x);
}
