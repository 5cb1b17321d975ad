// class: stack
// attacks: a value that is compared or printed without evaluating a node: equal-cycle
// want: Stack|Steps
{
  sync(parent, children)::
    { v: { a: self } == { a: self } },
}
