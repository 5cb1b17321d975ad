// class: output
// attacks: the answer: answer-text
// want: Output
{
  sync(parent, children)::
    local wide(s, n) = std.foldl(function(a, i) a + a, std.range(1, n), s);
    { v: wide('x', 23) },
}
