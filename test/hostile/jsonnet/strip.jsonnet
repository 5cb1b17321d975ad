// class: native
// attacks: one operation that makes something large: strip
// want: answer
{
  sync(parent, children)::
    local wide(s, n) = std.foldl(function(a, i) a + a, std.range(1, n), s);
    { v: std.length(std.lstripChars(wide('k', 21), 'k')) },
}
