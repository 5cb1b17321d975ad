// class: output
// attacks: an object that contains itself
// want: Output|Result
function sync() {
  const a = {};
  a.a = a;
  return a;
}
