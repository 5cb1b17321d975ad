// class: error
// attacks: an error of numbers that take 300 digits
// want: Memory|Steps|Timeout
local double(x, n) = if n == 0 then x else double(x + x, n - 1);
{
  sync(parent, children)::
    { v: error double([1e308], 19) },
}
