// class: bypass
// attacks: catching what ends the call: caught pattern
// want: Timeout
function sync({parent, children}) {
  for (;;) try { /^(a+)+\1b$/.test('a'.repeat(64)) } catch (e) {}
  return {};
}
