// class: native
// attacks: one operation that makes something large: makeArray
// want: Memory
{
  sync(parent, children)::
    { v: std.length(std.makeArray(2000000000, function(i) i)) },
}
