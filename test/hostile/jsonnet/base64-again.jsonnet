// class: memory
// attacks: base64 of what base64 made, without a name in between
// want: Memory
local d(s, n) = if n == 0 then s else local x = d(s, n - 1); x + x;
{ sync(parent, children):: { v: std.length(std.base64(std.base64(std.base64(std.base64(std.base64(std.base64(std.base64(std.base64(d('e', 23)))))))))) } }
