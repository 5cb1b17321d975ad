// class: state
// attacks: a field of the request that a call changes is its own copy's
// want: answer
function sync({parent}) {
  if (parent.spec.seen) throw new Error('it is still there');
  parent.spec.seen = 1;
  return {};
}
