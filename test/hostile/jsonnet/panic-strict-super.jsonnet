// class: native
// attacks: a panic: super in a default evaluated before there is one
// want: Runtime
{
  sync(parent, children)::
    { v: ({ y: 1 } + { local f(a, b=super.y) = b, x: f(1) tailstrict }).x },
}
