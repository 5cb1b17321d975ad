// class: bypass
// attacks: std by another name
// want: Memory
{
  sync(parent, children)::
    local s = std, r = s['ra' + 'nge']; { n: std.length(r(1, 1000000000)) },
}
