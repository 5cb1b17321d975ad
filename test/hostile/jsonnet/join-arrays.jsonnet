// class: native
// attacks: one operation that makes something large: join-arrays
// want: Memory
{
  sync(parent, children)::
    { v: local a = std.range(1, 100000); std.length(std.join(a, [a for i in std.range(1, 1000)])) },
}
