// class: error
// attacks: a panic: an error whose message is an array with an assertion that fails
// want: Raised|Runtime
{
  sync(parent, children)::
    { v: error [1, { assert false, x: 1 }] },
}
