// A VitessShard has tablets. Tablets for batch queries come first, so that a change is applied to them before it is applied to
// tablets that can be the master.
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
        replicas:: null,  // a field of the pool, not of a tablet
      })
      for t in types
      if t.pool in spec.tablets
      for i in std.range(0, spec.tablets[t.pool].replicas - 1)
    ]),
}
