// class: native
// attacks: one operation that makes something large: strip-array
// want: answer
{
  sync(parent, children)::
    local wide(s, n) = std.foldl(function(a, i) a + a, std.range(1, n), s);
    { v: std.length(std.stripChars(wide('k', 21), ['k'])) },
}
