// class: native
// attacks: a list that contains one list twice, forty levels deep: sort-dag
// want: Steps|Timeout
{
  sync(parent, children)::
    local dag(n) = if n == 0 then [] else (local x = dag(n - 1); [x, x]);
    { v: std.length(std.sort([dag(40), dag(40)])) },
}
