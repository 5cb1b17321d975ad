// class: native
// attacks: the length of an object of many layers with many fields each
// want: Memory|Steps|Timeout
local double(x, n) = if n == 0 then x else double(x + x, n - 1);
local wide = { ['a%d' % x]: x for x in std.range(0, 3000) };
{
  sync(parent, children)::
    { v: std.length(double(wide, 11)) },
}
