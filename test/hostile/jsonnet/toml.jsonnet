// class: native
// attacks: one operation that makes something large: toml
// want: Memory|Timeout
{
  sync(parent, children)::
    { v: std.length(std.manifestToml({ a: [std.repeat('k', 500) for i in std.range(1, 20000)] })) },
}
