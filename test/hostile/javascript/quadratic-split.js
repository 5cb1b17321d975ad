// class: native
// attacks: a regular expression: quadratic split
// want: Timeout|answer
function sync({parent, children}) {
  'a'.repeat(1e6).split(/a.*b|a/); return {}
  return {};
}
