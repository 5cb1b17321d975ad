// class: error
// attacks: a panic: an error whose message contains itself
// want: Stack
{
  sync(parent, children)::
    { v: error { a: self } },
}
