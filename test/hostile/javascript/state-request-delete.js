// class: state
// attacks: deleting from the request
// want: answer
function sync({parent}) {
  if (!parent.spec) throw new Error('it is gone');
  delete parent.spec;
  return {};
}
