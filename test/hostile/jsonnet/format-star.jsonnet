// class: native
// attacks: one operation that makes something large: format-star
// want: Memory|Stack
{
  sync(parent, children)::
    { v: std.length('%*d' % [1000000000, 5]) },
}
