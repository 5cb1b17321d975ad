// class: native
// attacks: one operation that makes something large: foldl-string
// want: Memory
{
  sync(parent, children)::
    local wide(s, n) = std.foldl(function(a, i) a + a, std.range(1, n), s);
    { v: std.foldl(function(a, c) a, wide('a', 23), 0) },
}
