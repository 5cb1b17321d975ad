// class: stack
// attacks: a value without end
// want: Runtime|Stack|Memory|Steps|Timeout
local m = import 'metascript.libsonnet';
{
  sync(parent, children): { v: local f(n) = { a: f(n + 1) }; m.hash(f(0)) },
}
