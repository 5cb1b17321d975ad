// class: native
// attacks: a panic: a text from a place beyond what the interpreter can count
// want: Runtime
{
  sync(parent, children)::
    { v: std.substr('abc', 1e300, 1) },
}
