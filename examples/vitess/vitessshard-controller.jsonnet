// A VitessShard: its tablets. Those that only serve batches come first, so a change is tried on them before it reaches
// those that may be the master.
local vitess = import 'vitess.libsonnet';

local types = [
  { pool: 'batch', type: 'rdonly' },
  { pool: 'masterEligible', type: 'replica' },
];

{
  sync(parent, children)::
    local spec = parent.spec;
    local defaults = std.get(spec.tablets, 'defaults', {});
    vitess.answer(children, [
      vitess.child('VitessTablet', '%s-%s-%d' % [parent.metadata.name, t.type, i], defaults + spec.tablets[t.pool] + {
        cell: spec.cell,
        keyspace: spec.keyspace,
        shard: spec.name,
        type: t.type,
        replicas:: null,  // of the pool, not of a tablet
      })
      for t in types
      if t.pool in spec.tablets
      for i in std.range(0, spec.tablets[t.pool].replicas - 1)
    ]),
}
