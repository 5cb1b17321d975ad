// class: memory
// attacks: a text of JSON with a value without endy two bytes
// want: Memory|Steps|Timeout
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: m.json.decode('[' + big(20, '0,') + '0]') },
}
