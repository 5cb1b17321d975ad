// class: native
// attacks: JSON with an indentation of many blanks
// want: Runtime
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: m.json.encode([[]], std.pow(2, 40)) },
}
