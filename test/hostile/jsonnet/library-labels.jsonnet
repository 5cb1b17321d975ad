// class: native
// attacks: a selector of many expressions of many values again and again
// want: Memory|Steps|Timeout
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: local e = { key: 'a', operator: 'NotIn', values: ['v' + i for i in std.range(1, 1000)] }; [m.labels.matches({ matchExpressions: std.makeArray(1000, function(i) e) }, { a: 'b' }) for i in std.range(1, 500000)] },
}
