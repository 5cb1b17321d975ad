// class: state
// attacks: numbers that tell calls apart
// want: Runtime
function sync() {
  Math.random();
  return {};
}
