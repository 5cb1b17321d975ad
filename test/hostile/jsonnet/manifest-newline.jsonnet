// class: native
// attacks: one operation that makes something large: manifest-newline
// want: Memory
{
  sync(parent, children)::
    { v: std.length(std.manifestJsonEx(std.range(1, 1000), '', std.repeat(' ', 1000000))) },
}
