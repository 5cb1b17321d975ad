// class: output
// attacks: an answer of a million values
// want: Output|Memory
{
  sync(parent, children)::
    { a: std.range(1, 300000) },
}
