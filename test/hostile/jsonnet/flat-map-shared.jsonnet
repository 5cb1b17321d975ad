// class: native
// attacks: one operation that makes something large: flat-map-shared
// want: Memory|Timeout
{
  sync(parent, children)::
    { v: local a = std.range(1, 300000); std.length(std.flatMap(function(i) a, a)) },
}
