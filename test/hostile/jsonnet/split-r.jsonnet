// class: native
// attacks: one operation that makes something large: split-r
// want: Memory
{
  sync(parent, children)::
    local wide(s, n) = std.foldl(function(a, i) a + a, std.range(1, n), s);
    { v: std.length(std.splitLimitR(wide('a', 22), 'a', 4000000)) },
}
