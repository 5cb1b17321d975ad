// class: output
// attacks: an answer that contains one list twice, sixty levels deep
// want: Output
function sync() {
  let a = ['x'];
  for (let i = 0; i < 60; i++) a = [a, a];
  return {a};
}
