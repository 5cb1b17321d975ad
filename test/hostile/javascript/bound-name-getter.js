// class: bypass
// attacks: a bound function whose name was a getter without end
// want: Timeout
function sync({parent, children}) {
  class A { static get name() { for (;;); } } const b = A.bind(); new b()
  return {};
}
