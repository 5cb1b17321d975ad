// class: native
// attacks: splitting a text as long as may be
// want: Memory|Timeout
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children):: { v: std.length(std.split(big(23, 'ab'), 'zz')) },
}
