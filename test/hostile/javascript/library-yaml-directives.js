// class: native
// attacks: a text of YAML of many directives, each compared with all before it
// want: Runtime
const {yaml} = require("metascript");
function sync() {
  return {v: yaml.decode(Array.from({length: 20000}, (_, i) => `%TAG !a${i}! b\n`).join("") + "---\n!b c")};
}
