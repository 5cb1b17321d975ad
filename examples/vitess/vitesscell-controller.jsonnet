// A VitessCell has the address of the topology store, its servers, and its keyspaces.
local vitess = import 'vitess.libsonnet';

local ports = { etcd: 2379, vtctld: 15999, vtgate: 3306 };

local topology(cell) = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: cell.metadata.name + '-topology' },
  data: {
    TOPO_IMPLEMENTATION: 'etcd2',
    TOPO_GLOBAL_SERVER_ADDRESS: 'http://%s-global-etcd:%d' % [cell.spec.cluster, ports.etcd],
    TOPO_GLOBAL_ROOT: '/vitess/global',
    CELL: cell.spec.name,
  },
};

local deployment(cell, server) =
  local spec = cell.spec[server];
  local labels = { 'vitess.io/cell': cell.metadata.name, 'vitess.io/server': server };
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: cell.metadata.name + '-' + server },
    spec: {
      replicas: std.get(spec, 'replicas', 1),
      selector: { matchLabels: labels },
      template: {
        metadata: { labels: labels },
        spec: {
          containers: [{
            name: server,
            image: spec.image,
            command: [server],
            envFrom: [{ configMapRef: { name: topology(cell).metadata.name } }],
            ports: [{ containerPort: ports[server] }],
            resources: std.get(spec, 'resources', {}),
          }],
        },
      },
    },
  };

local service(cell, server) = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: cell.metadata.name + '-' + server },
  spec: {
    selector: { 'vitess.io/cell': cell.metadata.name, 'vitess.io/server': server },
    ports: [{ port: ports[server] }],
  },
};

// It gives the tablets DNS names, by which they find each other.
local tablets(cell) = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: cell.metadata.name + '-vttablet' },
  spec: {
    clusterIP: 'None',
    publishNotReadyAddresses: true,
    selector: { 'vitess.io/cell': cell.metadata.name, 'vitess.io/server': 'vttablet' },
  },
};

{
  sync(parent, children)::
    local spec = parent.spec;
    local servers = [server for server in std.objectFields(ports) if server in spec];
    vitess.answer(
      children,
      [topology(parent), tablets(parent)] +
      [make(parent, server) for server in servers for make in [service, deployment]] +
      [
        local name = parent.metadata.name + '-' + keyspace.name;
        vitess.child('VitessKeyspace', name, keyspace { cell: parent.metadata.name })
        for keyspace in spec.keyspaces
      ]
    ),
}
