// class: error
// attacks: an assertion that fails in what the library is given
// want: Raised|Runtime
local m = import 'metascript.libsonnet';
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children): { v: m.hash({ assert false : big(20, 'x'), a: 1 }) },
}
