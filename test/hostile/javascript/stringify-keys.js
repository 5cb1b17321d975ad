// class: native
// attacks: a long list of long names that JSON.stringify is to allow
// want: Timeout|Memory
function sync() {
  const names = Array(1e6).fill("\u1234".repeat(1e6));
  return {n: JSON.stringify({}, names).length};
}
