// class: native
// attacks: a text of JSON with a number of a million digits
// want: Runtime|Memory|Steps|Timeout
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: [m.json.decode(big(20, '9') + '.5') for i in std.range(1, 500000)] },
}
