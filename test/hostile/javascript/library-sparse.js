// class: memory
// attacks: an array of 4 billion elements that do not exist
// want: Memory|Steps|Timeout
const {hash} = require("metascript");
function sync() {
  const a = [];
  a[4294967290] = 1;
  return {v: hash(a)};
}
