// class: state
// attacks: changing the library for the next call
// want: answer
const {yaml} = require("metascript");
function sync() {
  try { yaml.decode = null; } catch (e) {}
  const m = require("metascript");
  try { m.hash = null; delete m.merge; Object.defineProperty(m, "yaml", {value: 1}); } catch (e) {}
  return {v: typeof m.hash + typeof yaml.decode};
}
