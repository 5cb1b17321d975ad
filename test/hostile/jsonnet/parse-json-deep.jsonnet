// class: native
// attacks: one operation that makes something large: parse-json-deep
// want: Runtime|Memory
{
  sync(parent, children)::
    local wide(s, n) = std.foldl(function(a, i) a + a, std.range(1, n), s);
    { v: std.parseJson(wide('[', 20)) },
}
