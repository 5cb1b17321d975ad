// class: bypass
// attacks: a generator that goes on when it is ended
// want: Timeout|Memory
function sync() {
  function* g() { for (;;) try { yield 1; } finally { for (;;); } }
  for (const x of g()) break;
  return {};
}
