// class: loop
// attacks: a loop: async
// want: Timeout
function sync({parent, children}) {
  return (async () => { for (;;) await null })()
  return {};
}
