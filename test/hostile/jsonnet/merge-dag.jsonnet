// class: native
// attacks: a list that contains one list twice, forty levels deep: merge-dag
// want: Steps|Timeout|Memory|answer
{
  sync(parent, children)::
    { v: local f(n) = if n == 0 then {} else local x = f(n - 1); { a: x, b: x }; std.length(std.mergePatch(f(40), f(40))) },
}
