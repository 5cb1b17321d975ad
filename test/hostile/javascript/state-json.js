// class: state
// attacks: a function of an object of the language that is replaced
// want: answer
function sync() {
  if (JSON.stringify(1) !== '1') throw new Error('it is still there');
  JSON.stringify = () => 'x';
  return {};
}
