// class: native
// attacks: std.escapeStringJson of control characters, six bytes for each
// want: Memory|Timeout
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children):: { v: std.length(std.escapeStringJson(big(23, std.char(1)))) },
}
