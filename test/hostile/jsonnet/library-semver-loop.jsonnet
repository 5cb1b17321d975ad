// class: native
// attacks: constraints of thousands of characters again and again
// want: Runtime|Memory|Steps|Timeout
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: local c = big(8, '>=1 ||') + '1'; [m.semver.satisfies('1.0.0', c) for i in std.range(1, 500000)] },
}
