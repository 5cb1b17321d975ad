// class: native
// attacks: the SHA-256 of a long text again and again
// want: Memory|Steps|Timeout
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: local x = big(22, 'a'); [m.sha256(x) for i in std.range(1, 500000)] },
}
