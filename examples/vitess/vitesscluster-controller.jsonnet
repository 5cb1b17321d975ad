// A VitessCluster has cells, each with its keyspaces.
local vitess = import 'vitess.libsonnet';

{
  sync(parent, children)::
    local name = parent.metadata.name;
    local keyspacesIn(cell) = [k for k in std.get(parent.spec, 'keyspaces', []) if std.member(k.cells, cell.name)];
    vitess.answer(children, [
      vitess.child('VitessCell', name + '-' + cell.name, cell { cluster: name, keyspaces: keyspacesIn(cell) })
      for cell in parent.spec.cells
    ]),
}
