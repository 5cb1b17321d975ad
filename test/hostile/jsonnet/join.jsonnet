// class: native
// attacks: one operation that makes something large: join
// want: Memory|Runtime
{
  sync(parent, children)::
    { v: local s = std.repeat('x', 1000000); std.length(std.join(s, std.range(1, 1) + std.makeArray(1000, function(i) s))) },
}
