// class: loop
// attacks: a loop: labelled
// want: Timeout
function sync({parent, children}) {
  a: for (;;) { for (;;) continue a }
  return {};
}
