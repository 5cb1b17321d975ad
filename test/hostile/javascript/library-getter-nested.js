// class: stack
// attacks: a getter that calls the library with a getter that calls it
// want: Stack|Runtime|Memory|Steps|Timeout
const {hash} = require("metascript");
function sync() {
  const x = {get a() { return hash(x); }};
  return {v: hash(x)};
}
