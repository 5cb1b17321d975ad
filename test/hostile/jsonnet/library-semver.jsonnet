// class: native
// attacks: a version of a megabyte, and a constraint of as much
// want: Runtime|Memory|Steps|Timeout
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: [m.semver.valid('1.0.0-' + big(20, 'a.')), m.semver.satisfies('1.0.0', big(20, '>=1 '))] },
}
