// class: stack
// attacks: calls of the library within its arguments
// want: Stack|Memory|Steps|Timeout
local m = import 'metascript.libsonnet';
{
  sync(parent, children): { v: local f(n) = m.merge({}, { a: f(n + 1) }); f(0) },
}
