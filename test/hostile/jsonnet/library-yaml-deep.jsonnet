// class: stack
// attacks: a text of YAML that is nested deeply
// want: Runtime
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: m.yaml.decode(big(17, '[')) },
}
