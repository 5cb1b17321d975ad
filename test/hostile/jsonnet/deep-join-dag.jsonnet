// class: native
// attacks: a list that contains one list twice, forty levels deep: deep-join-dag
// want: Steps|Timeout|Memory
{
  sync(parent, children)::
    local dag(n) = if n == 0 then [] else (local x = dag(n - 1); [x, x]);
    { v: std.length(std.deepJoin(dag(40))) },
}
