// class: native
// attacks: std.parseYaml of many documents: each takes a parser
// want: Runtime
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children):: { v: std.length(std.parseYaml(big(17, '---\na: 1\n'))) },
}
