// class: bypass
// attacks: the prototype of a native function
// want: Runtime
function sync({parent, children}) {
  Object.setPrototypeOf([].forEach, {get name() { for (;;); }})
  return {};
}
