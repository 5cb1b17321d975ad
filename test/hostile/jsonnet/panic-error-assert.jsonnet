// class: error
// attacks: a panic: an error whose message is an object whose assertion fails
// want: Raised|Runtime
{
  sync(parent, children)::
    { v: error { assert false: { assert false: $, x: error self }, y: 1 } },
}
