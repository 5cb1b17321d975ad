// class: output
// attacks: an answer that is no number
// want: Result
{
  sync(parent, children)::
    { v: local i = std.sum([1e308, 1e308]); std.sum([i, -i]) },
}
