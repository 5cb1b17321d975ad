// class: host
// attacks: what the host gives: ext-var
// want: Runtime
{
  sync(parent, children)::
    { v: std.extVar('HOME') },
}
