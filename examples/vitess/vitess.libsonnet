// Code for all five controllers.

// An annotation on each child has a hash of the desired child.
local mark = 'vitess.io/made-from';
local made(desired) = desired {
  metadata+: { annotations+: { [mark]: std.md5(std.manifestJsonMinified(desired)) } },
};

local isTrue(object, type) = std.length([
  c
  for c in std.get(object.status, 'conditions', [])
  if c.type == type && c.status == 'True'
]) > 0;

// Whether an observed child works. True for kinds without such a status.
local works(object) =
  local has(field) = std.get(object.status, field, 0) == object.spec.replicas;
  if object.kind == 'Deployment' then has('replicas') && has('updatedReplicas') && has('availableReplicas')
  else if object.kind == 'ConfigMap' || object.kind == 'Service' then true
  else isTrue(object, 'Ready');

// Whether a child exists, is as desired now, and works.
local isDone(children, desired) =
  local observed = std.get(children[desired.kind + '.' + desired.apiVersion], desired.metadata.name);
  local status = std.get(observed, 'status', {});
  observed != null &&
  !std.objectHas(observed.metadata, 'deletionTimestamp') &&
  std.get(std.get(observed.metadata, 'annotations', {}), mark) == desired.metadata.annotations[mark] &&
  std.get(status, 'observedGeneration', std.get(observed.metadata, 'generation')) == std.get(observed.metadata, 'generation') &&
  works(observed { status: status });

{
  // A child of one of the five kinds.
  child(kind, name, spec): { apiVersion: 'vitess.io/v1alpha1', kind: kind, metadata: { name: name }, spec: spec },

  // The answer of every layer: the children, and Ready when all of them are done. The same is true in every layer below,
  // so Ready means that a change is complete in all layers.
  answer(children, wanted):
    local desired = std.map(made, wanted);
    local waiting = [d.kind + ' ' + d.metadata.name for d in desired if !isDone(children, d)];
    local ready = waiting == [];
    {
      children: desired,
      status: {
        ready: '%d/%d' % [std.length(desired) - std.length(waiting), std.length(desired)],
        conditions: [{
          type: 'Ready',
          status: if ready then 'True' else 'False',
          reason: if ready then 'AllReady' else 'Waiting',
          message: if ready then 'all children are ready' else 'waiting for ' + std.join(', ', waiting),
        }],
      },
    },
}
