// class: native
// attacks: a panic: self in a default evaluated before there is one
// want: Runtime
{
  sync(parent, children)::
    { v: { local f(a, b=self) = b, x: f(1) tailstrict }.x },
}
