// class: memory
// attacks: merging what was merged into itself
// want: Stack|Runtime|Memory|Steps|Timeout
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: std.foldl(function(x, i) m.merge({ x: x, y: x }, { z: x }), std.range(1, 1000), { a: big(10, 'b') }) },
}
