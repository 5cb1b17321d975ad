// class: error
// attacks: a panic: an assertion whose message reads super
// want: Raised|Runtime
{
  sync(parent, children)::
    { v: ({ assert false: error [super.x] } + { y: 1 }).y },
}
