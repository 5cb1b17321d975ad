// class: bypass
// attacks: a way around a guard: overridden names
// want: Timeout
function sync({parent, children}) {
  globalThis.RegExp = 1; ''.match('x'); const r = 'x'.match(/x/).constructor; 'a'.repeat(64).match('^(a+)+\\1b$')
  return {};
}
