// class: output
// attacks: an answer nested ten thousand levels deep
// want: Output|Stack
{
  sync(parent, children)::
    local f(n) = if n == 0 then 1 else [f(n - 1)]; { a: f(10000) },
}
