// class: bypass
// attacks: comparing through a function
// want: Stack|Steps
{
  sync(parent, children)::
    local eq = function(a, b) a == b, a = [a], b = [b]; { n: eq(a, b) },
}
