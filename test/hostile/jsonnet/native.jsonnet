// class: host
// attacks: what the host gives: native
// want: Runtime
{
  sync(parent, children)::
    local dag(n) = if n == 0 then [] else (local x = dag(n - 1); [x, x]);
    { v: std.native('metascript.answer')(dag(40)) },
}
