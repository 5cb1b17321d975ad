// class: memory
// attacks: doubling and growing: grow-left
// want: answer
{
  sync(parent, children)::
    { v: local f(i, a) = if i == 0 then a else f(i - 1, if i % 2 == 0 then 'x' + a else a + 'x') tailstrict; std.md5(f(2000, std.repeat('x', 30))) },
}
