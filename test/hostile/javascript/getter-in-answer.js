// class: output
// attacks: the answer: getter in answer
// want: Timeout
function sync({parent, children}) {
  return {get a() { for (;;); }}
  return {};
}
