// A VitessKeyspace has shards, one for each range of keys.
local vitess = import 'vitess.libsonnet';

local everything = { keyRange: { start: '', end: '' } };

// The name of a shard, such as 80-x, which means from 80 to the end.
local rangeName(range) =
  local bound(text) = if text == '' then 'x' else text;
  bound(range.start) + '-' + bound(range.end);

{
  sync(parent, children)::
    local spec = parent.spec;
    vitess.answer(children, [
      local range = rangeName(shard.keyRange);
      vitess.child('VitessShard', parent.metadata.name + '-' + range, {
        cell: spec.cell,
        keyspace: spec.name,
        name: range,
        tablets: spec.tablets,
      })
      for shard in std.get(spec, 'shards', [everything])
    ]),
}
