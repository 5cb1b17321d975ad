// class: memory
// attacks: doubling and growing: double-object
// want: Memory|Timeout|Steps
{
  sync(parent, children)::
    { v: std.foldl(function(a, i) a + a, std.range(1, 40), { a: 1 }).b },
}
