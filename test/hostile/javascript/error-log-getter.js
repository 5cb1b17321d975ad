// class: error
// attacks: printing what runs code
// want: Timeout|error|answer
function sync() {
  console.log({get a() { for (;;); }, toString() { for (;;); }});
  return {};
}
