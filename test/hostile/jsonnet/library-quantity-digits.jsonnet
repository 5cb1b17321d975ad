// class: native
// attacks: a quantity of a million digits
// want: Runtime
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: m.quantity.parse(big(20, '9')) },
}
