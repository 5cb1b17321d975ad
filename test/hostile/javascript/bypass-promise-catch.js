// class: bypass
// attacks: catching the end in a promise
// want: Memory|Timeout
async function sync() {
  for (;;) await (async () => 'a'.repeat(1e9))().catch(() => 1);
}
