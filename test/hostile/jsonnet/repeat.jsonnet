// class: native
// attacks: one operation that makes something large: repeat
// want: Memory
{
  sync(parent, children)::
    { v: std.length(std.repeat('abc', 1000000000)) },
}
