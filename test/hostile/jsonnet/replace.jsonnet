// class: native
// attacks: one operation that makes something large: replace
// want: Memory
{
  sync(parent, children)::
    { v: local s = std.repeat('x', 100000); std.length(std.strReplace(s, 'x', s)) },
}
