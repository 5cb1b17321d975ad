// class: error
// attacks: a message: error-text
// want: Raised
{
  sync(parent, children)::
    local wide(s, n) = std.foldl(function(a, i) a + a, std.range(1, n), s);
    { v: error wide('x', 23) },
}
