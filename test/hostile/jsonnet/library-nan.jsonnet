// class: output
// attacks: what is no number as an argument of the library
// want: Runtime|Result
{
  sync(parent, children)::
    { v: (import 'metascript.libsonnet').hash(local i = std.sum([1e308, 1e308]); std.sum([i, -i])) },
}
