// class: bypass
// attacks: the name of a native function is deleted and set by super
// want: Runtime
function sync({parent, children}) {
  delete [].forEach.name; class P {} ; const o = {__proto__: {}, m() { super.name = {toString() { for (;;); }} }}; o.m.call([].forEach); [1].forEach(() => { for (;;); })
  return {};
}
