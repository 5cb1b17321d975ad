// class: output
// attacks: an object whose field contains it again
// want: Output|Stack
{
  sync(parent, children)::
    local f(n) = { a: f(n + 1), b: f(n + 1) }; f(0),
}
