// class: error
// attacks: a panic: errors in errors
// want: Raised|Runtime
{
  sync(parent, children)::
    { v: error error error { a: error 'x' } },
}
