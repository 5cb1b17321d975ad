// class: native
// attacks: one operation that makes something large: format-precision
// want: Memory|Runtime|Steps|Timeout|answer
{
  sync(parent, children)::
    { v: std.length('%.1000000000f' % 5) },
}
