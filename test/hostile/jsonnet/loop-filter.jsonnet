// class: loop
// attacks: a filter over a long list, again and again
// want: Steps|Timeout|Memory
{
  sync(parent, children)::
    local a = std.range(1, 100000); { n: std.foldl(function(x, i) x + std.length(std.filter(function(y) y > i, a)), a, 0) },
}
