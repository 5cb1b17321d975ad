// class: memory
// attacks: doubling and growing: double-object-field
// want: Memory|answer
{
  sync(parent, children)::
    { v: std.length(std.foldl(function(a, i) { a+: a.a } + a, std.range(1, 40), { a: 'x' }).a) },
}
