// class: native
// attacks: decoding a long text again and again
// want: Runtime|Memory|Steps|Timeout
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: local x = big(20, 'YWFh'); [std.length(m.base64.decode(x)) for i in std.range(1, 500000)] },
}
