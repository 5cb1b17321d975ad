// class: stack
// attacks: a value that is compared or printed without evaluating a node: max-cycle
// want: Stack|Steps
{
  sync(parent, children)::
    { v: local a = [a], b = [b]; std.length(std.maxArray([a, b])) },
}
