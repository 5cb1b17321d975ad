// class: native
// attacks: one operation that makes something large: comprehension
// want: Memory|Timeout
{
  sync(parent, children)::
    { v: std.length({ ['k' + i]: 1 for i in std.range(1, 600000) }) },
}
