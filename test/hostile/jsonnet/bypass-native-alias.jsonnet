// class: bypass
// attacks: a native function by another name
// want: Runtime
{
  sync(parent, children)::
    local n = std['na' + 'tive']; { n: n('x')(1) },
}
