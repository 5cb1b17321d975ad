// class: native
// attacks: looking for a condition in a long list again and again
// want: Memory|Steps|Timeout
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: local l = std.makeArray(100000, function(i) {}); [m.conditions.isTrue(l, 'a') for i in std.range(1, 500000)] },
}
