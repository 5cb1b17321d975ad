// class: memory
// attacks: json.encode(x, 8) of a value with 2^60 parts
// want: Memory|Steps|Timeout
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: local x = std.foldl(function(x, i) [x, x], std.range(1, 60), 'a'); m.json.encode(x, 8) },
}
