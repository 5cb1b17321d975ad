// class: native
// attacks: a text of YAML of many directives, each compared with all before it
// want: Runtime
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: m.yaml.decode(std.join('', ['%TAG !a' + i + '! b\n' for i in std.range(1, 20000)]) + '---\n!b c') },
}
