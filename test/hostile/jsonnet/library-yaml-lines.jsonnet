// class: native
// attacks: reading texts of YAML again and again
// want: Memory|Steps|Timeout
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: [std.length(m.yaml.decode(big(13, '- a: [b, c]\n'))) for i in std.range(1, 500000)] },
}
