// See sync.star.
local VERSION = '1';

local read(o) =
  local extra = std.get(o, 'extra', {});
  if VERSION == '2' then std.length(extra)
  else if VERSION == '3' then std.length([key for key in std.objectFields(extra) if std.startsWith(key, 'unread')])
  else if VERSION == '4' then
    local list = std.get(extra, 'list', []);
    std.length(list) + (if std.length(list) > 0 then list[0] else 0)
  else if VERSION == '5' then std.length(std.toString(extra))
  else std.get(extra, 'read', 0);

local about(peers) = std.foldl(
  function(n, p) n + 1 + std.get(std.get(p, 'status', {}), 'children', 0) + std.parseInt(std.get(std.get(p.metadata, 'annotations', {}), 'note', '0')),
  std.objectValues(peers),
  0
);

local sum(objects) = std.foldl(function(n, o) n + read(o), objects, 0);

{
  sync(parent, children, related)::
    local maps = std.objectValues(children['ConfigMap.v1']);
    local secrets = std.objectValues(related['Secret.v1']);
    local count = parent.spec.count;
    {
      status: { children: std.length(maps), peers: about(std.get(related, 'Widget.example.com/v1', {})), total: sum([parent] + maps + secrets) },
      children: [{
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: '%s-%d' % [parent.metadata.name, i] },
        data: { script: VERSION, secrets: '%d' % std.length(secrets), read: '%d' % sum(secrets) },
      } for i in std.range(0, count - 1)],
      [if count == 3 then 'resyncAfterSeconds']: 600,
    },
}
