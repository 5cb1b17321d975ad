// class: stack
// attacks: a value that is compared or printed without evaluating a node: not-equal-cycle
// want: Stack|Steps
{
  sync(parent, children)::
    { v: local a = [a], b = [b]; a != b },
}
