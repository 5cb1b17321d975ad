// class: loop
// attacks: a loop: with
// want: Timeout
function sync({parent, children}) {
  with ({x: 1}) for (;;) x
  return {};
}
