// class: native
// attacks: one operation that makes something large: parse-json
// want: Memory
{
  sync(parent, children)::
    local wide(s, n) = std.foldl(function(a, i) a + a, std.range(1, n), s);
    { v: std.length(std.parseJson('[' + wide('0,', 21) + '0]')) },
}
