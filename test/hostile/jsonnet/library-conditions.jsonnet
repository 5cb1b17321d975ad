// class: native
// attacks: a condition more and more, each in a copy of the list
// want: Memory|Steps|Timeout
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: std.foldl(function(l, i) m.conditions.set(l, { type: 't' + i, status: 'True' }), std.range(1, 500000), []) },
}
