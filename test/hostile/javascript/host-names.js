// class: host
// attacks: names of the host
// want: answer
function sync() {
  for (const name of ['process', 'fetch', 'setTimeout', 'Deno', 'window', 'global', 'Buffer', 'XMLHttpRequest', 'importScripts']) {
    if (typeof globalThis[name] !== 'undefined') throw new Error(name);
  }
  return {};
}
