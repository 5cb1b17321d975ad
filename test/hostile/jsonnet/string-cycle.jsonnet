// class: stack
// attacks: a value that is compared or printed without evaluating a node: string-cycle
// want: Stack|Steps
{
  sync(parent, children)::
    { v: local a = [a]; std.length('' + a) },
}
