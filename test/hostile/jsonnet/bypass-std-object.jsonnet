// class: bypass
// attacks: std with a field more
// want: Memory
{
  sync(parent, children)::
    local s = std { x: 1 }; { n: std.length(s.range(1, 1000000000)) },
}
