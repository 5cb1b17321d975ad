// class: memory
// attacks: characters that JSON escapes and that take one character each
// want: Memory|Steps|Timeout
local double(x, n) = if n == 0 then x else double(x + x, n - 1);
{
  sync(parent, children)::
    { v: std.length(std.manifestJsonEx(double('\u2028', 23), '')) },
}
