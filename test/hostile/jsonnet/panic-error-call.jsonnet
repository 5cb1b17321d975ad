// class: error
// attacks: a panic: an error whose message reads a field that is not there
// want: Raised|Runtime
{
  sync(parent, children)::
    { v: local f(x) = error { a: x.b }; f({}) },
}
