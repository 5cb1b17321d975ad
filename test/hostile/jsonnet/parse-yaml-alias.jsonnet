// class: native
// attacks: one operation that makes something large: parse-yaml-alias
// want: Runtime|answer
{
  sync(parent, children)::
    { v: std.parseYaml('a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n') },
}
