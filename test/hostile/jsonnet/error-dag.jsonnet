// class: error
// attacks: a message: error-dag
// want: Memory|Steps|Timeout
{
  sync(parent, children)::
    local dag(n) = if n == 0 then [] else (local x = dag(n - 1); [x, x]);
    { v: error dag(40) },
}
