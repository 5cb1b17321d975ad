// class: native
// attacks: a text of YAML of 32 MiB
// want: Runtime|Memory|Steps|Timeout
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: m.yaml.decode(big(23, 'a\n')) },
}
