// class: loop
// attacks: loops within loops
// want: Steps|Timeout|Memory
{
  sync(parent, children)::
    { n: std.length([1 for a in std.range(1, 1000) for b in std.range(1, 1000) for c in std.range(1, 1000)]) },
}
