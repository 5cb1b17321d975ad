// class: output
// attacks: the answer: answer-dag
// want: Output
{
  sync(parent, children)::
    local dag(n) = if n == 0 then [] else (local x = dag(n - 1); [x, x]);
    { v: dag(40) },
}
