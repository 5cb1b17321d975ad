// class: loop
// attacks: a loop: loop
// want: Timeout
function sync({parent, children}) {
  for (;;);
  return {};
}
