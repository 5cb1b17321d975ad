// class: bypass
// attacks: calling the library as its file does
// want: Runtime|error
local m = import 'metascript.libsonnet';
{
  sync(parent, children): { v: [std.native(['hash', 1]), std.native(['hash']), std.native(['nothing', 1])] },
}
