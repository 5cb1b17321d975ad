// class: bypass
// attacks: catching what ends the call: caught repeat
// want: Memory
function sync({parent, children}) {
  for (;;) try { 'a'.repeat(1e9) } catch (e) {} finally { continue }
  return {};
}
