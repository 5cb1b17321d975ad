// class: native
// attacks: YAML aliases of a long text, each written out
// want: Memory
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children):: { v: std.parseYaml('- &a ' + big(16, 'b') + std.char(10) + std.join('', ['- *a' + std.char(10) for i in std.range(1, 5000)])) },
}
