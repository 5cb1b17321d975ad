// class: memory
// attacks: doubling and growing: double-string
// want: Memory|Timeout|Steps
{
  sync(parent, children)::
    { v: std.length(std.foldl(function(a, i) a + a, std.range(1, 40), 'x')) },
}
