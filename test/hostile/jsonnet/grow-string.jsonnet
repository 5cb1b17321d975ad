// class: memory
// attacks: doubling and growing: grow-string
// want: Memory|Steps|Timeout
{
  sync(parent, children)::
    { v: std.length(std.foldl(function(a, i) a + 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', std.range(1, 600000), '')) },
}
