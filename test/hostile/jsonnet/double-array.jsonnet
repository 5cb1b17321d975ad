// class: memory
// attacks: doubling and growing: double-array
// want: Memory|Timeout|Steps
{
  sync(parent, children)::
    { v: std.length(std.foldl(function(a, i) a + a, std.range(1, 40), [1])) },
}
