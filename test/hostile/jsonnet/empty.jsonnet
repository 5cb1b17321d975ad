// class: loop
// attacks: a loop: empty
// want: Timeout|Steps
{
  sync(parent, children)::
    local wide(s, n) = std.foldl(function(a, i) a + a, std.range(1, n), s), big = wide('x', 23);
    { v: std.length([1 for i in std.range(1, 100000) if !std.isEmpty(big)]) },
}
