// class: native
// attacks: a text of YAML of many documents
// want: Output|Runtime|Memory|Steps|Timeout
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: m.yaml.decodeAll(big(17, '---\na: 1\n')) },
}
