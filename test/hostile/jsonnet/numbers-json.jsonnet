// class: memory
// attacks: numbers that take 300 digits as JSON, whose writer has no exponents
// want: Memory|Steps|Timeout
local double(x, n) = if n == 0 then x else double(x + x, n - 1);
{
  sync(parent, children)::
    { v: std.length(std.manifestJsonEx(double([1e-308], 18), '')) },
}
