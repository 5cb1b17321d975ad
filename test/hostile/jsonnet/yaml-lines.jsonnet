// class: memory
// attacks: lines of a text that YAML indents, nested deeply
// want: Memory|Steps|Timeout
local double(x, n) = if n == 0 then x else double(x + x, n - 1);
local nest(x, n) = if n == 0 then x else { a: nest(x, n - 1) };
{
  sync(parent, children)::
    { v: std.length(std.manifestYamlDoc(nest(double('\n', 20), 200))) },
}
