// class: state
// attacks: numbers that tell calls apart
// want: answer
function sync() {
  Math.random();
  return {};
}
