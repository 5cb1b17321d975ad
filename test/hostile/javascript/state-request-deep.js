// class: state
// attacks: the same, deeper, and by a function of the language's
// want: answer
function sync({children}) {
  const pods = Object.values(children['Pod.v1']);
  if (pods[0].metadata.labels.seen) throw new Error('it is still there');
  Object.assign(pods[0].metadata.labels, {seen: 'x'});
  pods[0].spec.containers.push({name: 'x'});
  if (pods[1].spec.containers.length !== 1) throw new Error('it is in another');
  return {};
}
