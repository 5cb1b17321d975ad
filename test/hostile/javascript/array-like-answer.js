// class: output
// attacks: the answer: array like answer
// want: Output
function sync({parent, children}) {
  const a = []; a[4294967290] = 1; return {children: a}
  return {};
}
