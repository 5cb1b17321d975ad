// class: stack
// attacks: stack and time: recursion
// want: Stack
{
  sync(parent, children)::
    { v: local f(x) = 1 + f(x + 1); f(0) },
}
