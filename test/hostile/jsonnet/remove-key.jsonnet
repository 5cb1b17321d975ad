// class: memory
// attacks: doubling and growing: remove-key
// want: Memory|Steps|Timeout|Stack
{
  sync(parent, children)::
    { v: std.foldl(function(o, i) std.objectRemoveKey(o, 'a'), std.range(1, 100000), { a: 1, b: 2 }).b },
}
