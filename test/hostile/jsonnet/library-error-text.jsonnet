// class: error
// attacks: an error of the library that shows what it was given
// want: Runtime
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: m.semver.parse(big(22, 'x')) },
}
