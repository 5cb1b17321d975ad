// class: stack
// attacks: stack and time: assert-self
// want: Raised|Runtime
{
  sync(parent, children)::
    { v: { assert self.a, a: { assert false : 'x' } }.b },
}
