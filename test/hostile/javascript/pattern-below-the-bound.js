// class: loop
// attacks: a regular expression: many searches that are each just short enough
// want: Timeout
function sync({parent, children}) {
  const pattern = new RegExp('a?'.repeat(1000) + 'z'), text = 'a'.repeat(1200);
  for (;;) pattern.test(text);
}
