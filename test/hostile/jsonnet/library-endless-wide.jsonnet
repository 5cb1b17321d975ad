// class: memory
// attacks: a value without end that doubles at every level
// want: Runtime|Stack|Memory|Steps|Timeout
local m = import 'metascript.libsonnet';
{
  sync(parent, children): { v: local f(n) = [f(n + 1), f(n + 1)]; m.hash(f(0)) },
}
