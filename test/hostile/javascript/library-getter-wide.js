// class: memory
// attacks: a getter that gives ever more
// want: Memory|Steps|Timeout
const {hash} = require("metascript");
function sync() {
  const x = () => ({get a() { return x(); }, get b() { return x(); }});
  const deep = (n) => n == 0 ? "a" : {get a() { return deep(n - 1); }, get b() { return deep(n - 1); }};
  return {v: hash(deep(60))};
}
