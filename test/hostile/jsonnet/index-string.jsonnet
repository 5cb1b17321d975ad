// class: memory
// attacks: one character of each of many strings that were only put together
// want: Memory|Timeout
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children):: local all = [big(23, 'x') + i for i in std.range(1, 100)]; { v: std.length(std.join('', [s[3] for s in all])) },
}
