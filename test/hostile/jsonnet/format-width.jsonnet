// class: native
// attacks: one operation that makes something large: format-width
// want: Memory|Stack
{
  sync(parent, children)::
    { v: std.length('%1000000000d' % 5) },
}
