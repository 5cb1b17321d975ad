// class: error
// attacks: an error of the library that shows what it was given
// want: Runtime
const {yaml, semver} = require("metascript");
function sync() {
  return {v: semver.parse("x".repeat(1 << 24))};
}
