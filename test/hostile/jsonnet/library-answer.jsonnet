// class: output
// attacks: an answer that the library made too large
// want: Output|Memory|Steps|Timeout
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: [m.yaml.decode('[' + std.repeat('a, ', 1000) + ']') for i in std.range(1, 1000)] },
}
