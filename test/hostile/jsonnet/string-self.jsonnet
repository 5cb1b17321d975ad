// class: native
// attacks: an error while a value is made a string, which leaves the interpreter without its stack
// want: Stack
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children):: local o = { a: std.toString(o), b: big(1, '') }; { v: o },
}
