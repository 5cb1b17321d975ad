// class: state
// attacks: a variable of the top level that a call changes
// want: answer
let n = 0;
function sync() {
  n++;
  if (n > 1) throw new Error('it is still there');
  return {};
}
