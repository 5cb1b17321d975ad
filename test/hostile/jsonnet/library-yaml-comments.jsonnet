// class: native
// attacks: a text of YAML of comments
// want: Output|Runtime|Memory|Steps|Timeout
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: m.yaml.decode(big(18, '- #\n')) },
}
