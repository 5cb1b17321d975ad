// class: native
// attacks: YAML keys that are escaped character by character
// want: Memory
{
  local big(n, c) = std.foldl(function(s, i) s + s, std.range(1, n), c),
  sync(parent, children):: local n(k) = if k == 0 then 'x' else { [big(12, 'x')]: n(k - 1) }; { v: std.manifestYamlDoc(n(200)) },
}
