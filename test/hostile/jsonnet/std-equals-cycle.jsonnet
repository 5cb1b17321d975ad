// class: stack
// attacks: a value that is compared or printed without evaluating a node: std-equals-cycle
// want: Stack|Steps
{
  sync(parent, children)::
    { v: local a = [a], b = [b]; std.equals(a, b) },
}
