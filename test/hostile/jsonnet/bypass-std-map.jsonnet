// class: bypass
// attacks: a function of std as a value
// want: Memory
{
  sync(parent, children)::
    { n: std.map(function(f) std.length(f(1, 1000000000)), [std.range]) },
}
