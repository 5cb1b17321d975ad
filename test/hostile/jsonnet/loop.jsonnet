// class: loop
// attacks: a loop: loop
// want: Steps|Timeout
{
  sync(parent, children)::
    { v: std.foldl(function(a, i) std.foldl(function(b, j) b + j, std.range(1, 100000), a), std.range(1, 100000), 0) },
}
