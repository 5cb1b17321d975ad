// class: loop
// attacks: calls that call twice
// want: Steps|Timeout
{
  sync(parent, children)::
    local f(n) = if n < 2 then n else f(n - 1) + f(n - 2); { n: f(80) },
}
