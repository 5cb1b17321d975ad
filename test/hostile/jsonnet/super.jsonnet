// class: stack
// attacks: stack and time: super
// want: Stack|answer
{
  sync(parent, children)::
    { v: std.foldl(function(o, i) o { a: super.a + 1 }, std.range(1, 3000), { a: 0 }).a },
}
