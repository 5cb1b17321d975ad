// class: memory
// attacks: numbers that take 300 digits as YAML
// want: Memory|Steps|Timeout
local double(x, n) = if n == 0 then x else double(x + x, n - 1);
{
  sync(parent, children)::
    { v: std.length(std.manifestYamlDoc(double([1e308], 19))) },
}
