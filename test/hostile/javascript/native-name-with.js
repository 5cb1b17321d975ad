// class: bypass
// attacks: the name of a native function is deleted within with
// want: Runtime
function sync({parent, children}) {
  with ([].forEach) { delete name }; return {n: [].forEach.name}
  return {};
}
