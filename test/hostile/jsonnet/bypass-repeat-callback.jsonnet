// class: bypass
// attacks: a builtin as a callback
// want: Memory
{
  sync(parent, children)::
    { n: std.foldl(std.repeat, [1000000, 1000000], 'x') },
}
