// class: stack
// attacks: a text of YAML with ever more dashes in a line
// want: Runtime|Memory|Steps|Timeout
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: [m.yaml.decode(big(9, '- ') + 'x') for i in std.range(1, 500000)] },
}
