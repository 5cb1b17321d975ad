// class: bypass
// attacks: what is no name
// want: Runtime|error
local m = import 'metascript.libsonnet';
{
  sync(parent, children): { v: std.native([std.native, {}]) },
}
