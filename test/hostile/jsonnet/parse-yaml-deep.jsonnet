// class: native
// attacks: one operation that makes something large: parse-yaml-deep
// want: Memory|Runtime
{
  sync(parent, children)::
    { v: std.parseYaml(std.repeat('- ', 100000) + 'x') },
}
