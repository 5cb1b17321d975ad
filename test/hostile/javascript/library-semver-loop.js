// class: native
// attacks: constraints of thousands of characters again and again
// want: Runtime|Memory|Steps|Timeout
const {semver} = require("metascript");
function sync() {
  const c = ">=1 ||".repeat(400) + "1";
  for (let i = 0; i < 1e6; i++) semver.satisfies("1.0.0", c);
}
