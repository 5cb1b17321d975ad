// class: native
// attacks: an array of the request that was made long
// want: Memory|Steps|Timeout|answer|Runtime
const {hash} = require("metascript");
function sync() {
  const a = require("metascript").yaml.decode("[1]");
  for (let i = 0; i < 1e6; i++) a.push(i);
  for (;;) hash(a);
}
