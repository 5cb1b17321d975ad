// class: stack
// attacks: stack and time: self
// want: Stack
{
  sync(parent, children)::
    { v: { a: self.a }.a },
}
