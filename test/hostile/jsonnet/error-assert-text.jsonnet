// class: error
// attacks: a message of eight million characters
// want: Raised|Memory
{
  sync(parent, children)::
    assert false : std.foldl(function(a, i) a + a, std.range(1, 23), 'x'); {},
}
