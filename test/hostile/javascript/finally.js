// class: bypass
// attacks: catching what ends the call: finally
// want: Timeout
function sync({parent, children}) {
  for (;;) { try { for (;;); } finally { continue } }
  return {};
}
