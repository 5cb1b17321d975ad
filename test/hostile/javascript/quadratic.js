// class: native
// attacks: a regular expression: quadratic
// want: Timeout|answer
function sync({parent, children}) {
  'a'.repeat(1e6).replace(/a.*b|a/g, 'y'); return {}
  return {};
}
