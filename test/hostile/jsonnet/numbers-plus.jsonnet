// class: memory
// attacks: numbers that take 300 digits, added to a text
// want: Memory|Steps|Timeout
local double(x, n) = if n == 0 then x else double(x + x, n - 1);
{
  sync(parent, children)::
    { v: std.length('' + double([-1e308], 19)) },
}
