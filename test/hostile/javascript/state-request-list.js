// class: state
// attacks: changing a list of the request
// want: answer
function sync({parent}) {
  if (parent.spec.list.length !== 2) throw new Error('it is still there');
  parent.spec.list.push(3);
  parent.spec.list.sort((a, b) => b - a);
  return {};
}
