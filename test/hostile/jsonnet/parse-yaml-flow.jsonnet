// class: native
// attacks: one operation that makes something large: parse-yaml-flow
// want: Memory|Runtime
{
  sync(parent, children)::
    { v: std.parseYaml(std.repeat('[', 100000)) },
}
