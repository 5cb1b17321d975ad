// class: native
// attacks: a quantity with an exponent of a billion
// want: Runtime
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: m.quantity.add('1e1000000000', '1') },
}
