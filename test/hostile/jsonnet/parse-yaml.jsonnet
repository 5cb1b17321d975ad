// class: native
// attacks: one operation that makes something large: parse-yaml
// want: Memory
{
  sync(parent, children)::
    local wide(s, n) = std.foldl(function(a, i) a + a, std.range(1, n), s);
    { v: std.length(std.parseYaml(wide('- 1\n', 18))) },
}
