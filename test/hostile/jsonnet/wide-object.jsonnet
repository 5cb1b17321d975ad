// class: native
// attacks: the length of an object of many fields, again and again
// want: Timeout|Steps
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children):: local o = { ['x' + i]: i for i in std.range(1, 50000) }; { v: std.foldl(function(a, i) a + std.length(std.objectRemoveKey(o, 'x1')), std.range(1, 100000), 0) },
}
