// class: native
// attacks: a regular expression: repetitions that count, in each other
// want: Timeout|answer
function sync({parent, children}) {
  return {found: /(?:(?:(?:(?:a{0,9}b?){0,9}c?){0,9}d?){0,9}e?){0,9}z/.test('a'.repeat(3000))};
}
