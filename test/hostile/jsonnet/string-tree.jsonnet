// class: native
// attacks: a tree without end made a string
// want: Stack
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children):: local f(n) = [f(n + 1), f(n + 1)]; { v: std.toString(f(0)) },
}
