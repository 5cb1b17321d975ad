// class: error
// attacks: a message: trace-text
// want: answer|Memory
{
  sync(parent, children)::
    local wide(s, n) = std.foldl(function(a, i) a + a, std.range(1, n), s);
    { v: std.trace(wide('x', 23), 1) },
}
