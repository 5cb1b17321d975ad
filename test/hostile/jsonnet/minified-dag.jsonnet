// class: memory
// attacks: the text of a list that contains one list twice, forty levels deep: minified-dag
// want: Memory|Steps|Timeout
{
  sync(parent, children)::
    local dag(n) = if n == 0 then [] else (local x = dag(n - 1); [x, x]);
    { v: std.length(std.manifestJsonMinified(dag(40))) },
}
