// class: native
// attacks: a regular expression: made by match and search of a text
// want: Timeout
function sync({parent, children}) {
  const text = 'a'.repeat(20000);
  return {a: text.match('(?:a?){1000}(?:a?){1000}[(]'), b: text.search('(a?){900}(a*)*[(]')};
}
