// class: native
// attacks: a selector of many expressions of many values again and again
// want: Memory|Steps|Timeout
const {labels} = require("metascript");
function sync() {
  const e = {key: "a", operator: "NotIn", values: Array.from({length: 1000}, (_, i) => "v" + i)};
  const s = {matchExpressions: new Array(1000).fill(e)};
  for (let i = 0; i < 1e6; i++) labels.matches(s, {a: "b"});
}
