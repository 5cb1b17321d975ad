// class: output
// attacks: getters that make more getters
// want: Output|Timeout|Stack
function sync() {
  const next = () => ({get a() { return next(); }, get b() { return next(); }});
  return next();
}
