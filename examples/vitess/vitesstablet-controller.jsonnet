// A VitessTablet has one Pod, with a database and the server that clients use.
local vitess = import 'vitess.libsonnet';

// A number that is very probably unique in the cell.
local uid(name) = std.parseHex(std.substr(std.md5(name), 0, 7));

local container(tablet, name, more) = {
  name: name,
  image: tablet.spec.image,
  resources: std.get(std.get(tablet.spec, name, {}), 'resources', {}),
  volumeMounts: [{ name: 'data', mountPath: '/vt/vtdataroot' }],
} + more;

local pod(tablet) = {
  local name = tablet.metadata.name,
  local spec = tablet.spec,
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: name,
    labels: {
      'vitess.io/cell': spec.cell,
      'vitess.io/server': 'vttablet',
      'vitess.io/keyspace': spec.keyspace,
      'vitess.io/shard': spec.shard,
      'vitess.io/type': spec.type,
    },
  },
  spec: {
    hostname: name,
    subdomain: spec.cell + '-vttablet',
    terminationGracePeriodSeconds: 5,
    containers: [
      container(tablet, 'vttablet', {
        command: ['vttablet'],
        envFrom: [{ configMapRef: { name: spec.cell + '-topology' } }],
        env: [
          { name: 'TABLET_UID', value: '%d' % uid(name) },
          { name: 'KEYSPACE', value: spec.keyspace },
          { name: 'SHARD', value: spec.shard },
          { name: 'TABLET_TYPE', value: spec.type },
        ],
        ports: [{ name: 'grpc', containerPort: 16002 }],
      }),
      container(tablet, 'mysql', { command: ['mysqld'] }),
    ],
    volumes: [{ name: 'data', emptyDir: {} }],
  },
};

{
  sync(parent, children):: vitess.answer(children, [pod(parent)]),
}
