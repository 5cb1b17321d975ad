// class: native
// attacks: one operation that makes something large: flat-map
// want: Memory|Timeout|Steps
{
  sync(parent, children)::
    { v: local a = std.range(1, 300000); std.length([x for i in a for x in a]) },
}
