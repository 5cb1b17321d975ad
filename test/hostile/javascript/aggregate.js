// class: error
// attacks: a message: aggregate
// want: Raised|Runtime|Timeout|Memory
function sync({parent, children}) {
  throw new AggregateError(new Array(1e6).fill(new Error('x'.repeat(1e6))), 'many')
  return {};
}
