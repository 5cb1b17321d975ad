// class: error
// attacks: a panic: an error whose message reads a field that does not exist
// want: Raised|Runtime
{
  sync(parent, children)::
    { v: local f(x) = error { a: x.b }; f({}) },
}
