// class: memory
// attacks: doubling and growing: pending-string
// want: answer|Memory|Timeout
{
  sync(parent, children)::
    { v: std.md5(std.foldl(function(a, i) a + 'x', std.range(1, 400000), std.repeat('x', 30))) },
}
