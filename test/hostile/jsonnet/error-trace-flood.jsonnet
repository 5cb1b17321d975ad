// class: error
// attacks: printing without end
// want: Steps|Timeout|Memory
{
  sync(parent, children)::
    { n: std.foldl(function(a, i) std.trace('x', a + 1), std.range(1, 600000), 0) + std.foldl(function(a, i) std.trace('x', a + 1), std.range(1, 600000), 0) + std.foldl(function(a, i) std.trace('y', a), std.makeArray(300000, function(i) std.foldl(function(b, j) b + j, std.range(1, 1000), 0)), 0) },
}
