// class: native
// attacks: one operation that makes something large: manifest-indent
// want: Memory
{
  sync(parent, children)::
    { v: std.length(std.manifestJsonEx([[[[[[[[1]]]]]]]], std.repeat(' ', 4000000))) },
}
