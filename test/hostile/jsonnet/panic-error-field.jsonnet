// class: error
// attacks: a panic: an error whose message cannot be made
// want: Raised|Runtime
{
  sync(parent, children)::
    { v: error { a: error 'x' } },
}
