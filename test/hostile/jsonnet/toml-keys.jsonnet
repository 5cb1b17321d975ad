// class: native
// attacks: TOML tables that nest: each says the keys of all above it
// want: Memory
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children):: local nested(n) = if n == 0 then { x: 1 } else { [big(10, 'x')]: nested(n - 1) }; { v: std.length(std.manifestTomlEx(nested(200), ' ')) },
}
