// class: native
// attacks: a regular expression: a bracket in a class, which opens no group
// want: answer|Memory|Timeout
function sync({parent, children}) {
  const all = [];
  for (let i = 0; i < 30; i++) all.push(new RegExp('(?:' + 'a'.repeat(3300) + '[(]){900}' + i));
  return {n: all.length};
}
