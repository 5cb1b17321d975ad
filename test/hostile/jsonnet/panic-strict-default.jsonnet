// class: native
// attacks: a panic: a default evaluated before there are variables
// want: Runtime
{
  sync(parent, children)::
    { v: local f(a, b=a) = b; f(1) tailstrict },
}
