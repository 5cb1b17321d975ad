// class: stack
// attacks: stack and time: objects
// want: Stack|Memory
{
  sync(parent, children)::
    { v: local f(x) = { a: f(x + 1) }; std.length(std.toString(f(0))) },
}
