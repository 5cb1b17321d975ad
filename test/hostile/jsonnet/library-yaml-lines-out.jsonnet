// class: memory
// attacks: YAML of a text of many lines, each indented deeply
// want: Memory|Steps|Timeout
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: m.yaml.encode(std.foldl(function(x, i) [x], std.range(1, 90), big(21, '\n'))) },
}
