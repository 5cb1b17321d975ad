// class: native
// attacks: one operation that makes something large: range
// want: Memory
{
  sync(parent, children)::
    { v: std.length(std.range(1, 100000000)) },
}
