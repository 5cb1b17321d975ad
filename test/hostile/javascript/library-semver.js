// class: native
// attacks: a version of a megabyte, and a constraint of as much
// want: Runtime|Memory|Steps|Timeout
const {semver} = require("metascript");
function sync() {
  return {v: [semver.valid("1.0.0-" + "a.".repeat(1 << 20)), semver.satisfies("1.0.0", ">=1 ".repeat(1 << 20))]};
}
