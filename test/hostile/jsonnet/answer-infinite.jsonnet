// class: output
// attacks: an answer that is infinite
// want: Result
{
  sync(parent, children)::
    { v: std.sum([1e308, 1e308]) },
}
