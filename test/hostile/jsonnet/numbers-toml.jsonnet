// class: native
// attacks: numbers that take 300 digits as TOML
// want: answer
local double(x, n) = if n == 0 then x else double(x + x, n - 1);
{
  sync(parent, children)::
    { v: std.length(std.manifestTomlEx({ a: double([1e308], 12) }, '')) },
}
