// class: native
// attacks: one operation that makes something large: repeat-array
// want: Memory
{
  sync(parent, children)::
    { v: std.length(std.repeat(std.range(1, 1000), 100000)) },
}
