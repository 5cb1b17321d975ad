// class: memory
// attacks: base64 of characters of two bytes each
// want: Memory
local d(s, n) = if n == 0 then s else local x = d(s, n - 1); x + x;
{ sync(parent, children):: { v: std.length(std.base64(d('é', 23))) } }
