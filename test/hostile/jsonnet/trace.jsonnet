// class: error
// attacks: a message: trace
// want: Steps|Timeout|answer|Memory
{
  sync(parent, children)::
    local wide(s, n) = std.foldl(function(a, i) a + a, std.range(1, n), s), big = wide('x', 23);
    { v: std.foldl(function(a, i) std.trace(big, a), std.range(1, 100000), 0) },
}
