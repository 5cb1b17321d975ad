// class: native
// attacks: an array that shrinks while it is sorted
// want: Runtime
function sync() {
  const a = [];
  for (let i = 0; i < 1e5; i++) a.push(i);
  a.sort((x, y) => { a.length = 0; return x - y; });
  return {};
}
