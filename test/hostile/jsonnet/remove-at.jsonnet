// class: native
// attacks: std.removeAt of an index that is not there, which panics in the interpreter
// want: Runtime
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children):: { v: std.removeAt([1, 2, 3], -1) },
}
