// class: loop
// attacks: a loop: md5
// want: Timeout|Steps
{
  sync(parent, children)::
    local wide(s, n) = std.foldl(function(a, i) a + a, std.range(1, n), s);
    { v: [std.md5(wide('k', 23)) for i in std.range(1, 1000)] },
}
