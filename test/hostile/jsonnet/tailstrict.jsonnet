// class: stack
// attacks: stack and time: tailstrict
// want: Stack
{
  sync(parent, children)::
    { v: local f(x) = f(x + 1) tailstrict; f(0) },
}
