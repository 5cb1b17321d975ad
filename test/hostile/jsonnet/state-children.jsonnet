// class: state
// attacks: a child is the same for both calls
// want: answer
{
  sync(parent, children)::
    local pods = children['Pod.v1'], more = pods { extra: 1 }; assert std.length(pods) == 20; { n: std.length(more) },
}
