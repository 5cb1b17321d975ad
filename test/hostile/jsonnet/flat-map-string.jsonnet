// class: memory
// attacks: a long text for each character of another
// want: Memory|Steps|Timeout
local double(x, n) = if n == 0 then x else double(x + x, n - 1);
{
  sync(parent, children)::
    { v: local big = double('x', 22); std.length(std.flatMap(function(c) if std.length(big) > 0 then big, double('a', 16))) },
}
