// class: native
// attacks: a condition more and more, each in a copy of the list
// want: Memory|Steps|Timeout
const {conditions} = require("metascript");
function sync() {
  let l = [];
  for (let i = 0; ; i++) l = conditions.set(l, {type: "t" + i, status: "True"});
}
