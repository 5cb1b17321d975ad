// class: native
// attacks: one operation that makes something large: base64
// want: Memory
{
  sync(parent, children)::
    local wide(s, n) = std.foldl(function(a, i) a + a, std.range(1, n), s);
    { v: std.length(std.base64DecodeBytes(wide('aaaa', 20))) },
}
