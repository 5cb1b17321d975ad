// class: stack
// attacks: stack and time: local-self
// want: Stack
{
  sync(parent, children)::
    { v: local a = a + 1; a },
}
