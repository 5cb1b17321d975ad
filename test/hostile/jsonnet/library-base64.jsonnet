// class: memory
// attacks: encoding what was encoded, again and again
// want: Stack|Memory|Steps|Timeout
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: std.foldl(function(x, i) m.base64.encode(x), std.range(1, 1000), big(10, 'a')) },
}
