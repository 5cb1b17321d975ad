// class: loop
// attacks: a getter without end in what the library is given
// want: Memory|Steps|Timeout
const {hash} = require("metascript");
function sync() {
  return {v: hash({get a() { for (;;); }})};
}
