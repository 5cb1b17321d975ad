// The parent's status, of five fields of each Pod: name, node, image, phase, and whether it is ready.
{
  local ready(pod) = std.length([0 for c in pod.status.conditions if c.type == 'Ready' && c.status == 'True']) > 0,

  sync(parent, children)::
    local pods = std.objectValues(children['Pod.v1']);
    { status: {
      replicas: std.length(pods),
      running: std.count([pod.status.phase for pod in pods], 'Running'),
      current: std.count([pod.spec.containers[0].image for pod in pods], parent.spec.image),
      nodes: std.set([pod.spec.nodeName for pod in pods]),
      waiting: [pod.metadata.name for pod in pods if !ready(pod)],
    } },
}
