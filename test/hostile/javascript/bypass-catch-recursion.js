// class: bypass
// attacks: catching the end of the stack, again and again
// want: Stack|Timeout
function sync() {
  const f = () => { try { f(); } catch (e) { f(); } finally { f(); } };
  f();
}
