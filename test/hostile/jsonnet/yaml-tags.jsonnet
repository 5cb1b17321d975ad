// class: native
// attacks: std.parseYaml of many directives, each compared with all before it
// want: Runtime
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children):: { v: std.parseYaml(std.join('', ['%TAG !a' + i + '! b\n' for i in std.range(1, 20000)]) + '---\n!b c') },
}
