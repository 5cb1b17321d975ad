// class: loop
// attacks: adding quantities without end
// want: Memory|Steps|Timeout
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: std.foldl(function(x, i) m.quantity.add(x, '1n'), std.range(1, 500000), '0') },
}
