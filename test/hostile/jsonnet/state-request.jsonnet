// class: state
// attacks: the request is the same for both calls
// want: answer
{
  sync(parent, children)::
    local c = parent { spec+: { seen: 1 } }; assert !std.objectHas(parent.spec, 'seen'); { n: c.spec.seen },
}
