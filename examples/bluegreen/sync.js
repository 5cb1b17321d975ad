// Two ReplicaSets, blue and green, and a Service that points at one of them. A new template goes to the other one; when
// all its Pods are available the Service moves at once, and then the Pods of the first one go.

// Each ReplicaSet notes the template that it was made from, since the API server completes its copy with defaults.
const TEMPLATE = "bluegreendeployments.ctl.enisoc.com/pod-template-json";

function sync({parent, children}) {
  const {replicas, service} = parent.spec;
  const template = JSON.stringify(parent.spec.template);
  const observed = color => children["ReplicaSet.apps/v1"][`${parent.metadata.name}-${color}`];
  const made = color => observed(color)?.metadata.annotations[TEMPLATE] ?? template;

  const active = children["Service.v1"][service.metadata.name]?.spec.selector.color ?? "blue";
  const idle = active === "blue" ? "green" : "blue";
  const next = {
    service: active,
    [active]: {replicas, template: made(active)},
    [idle]: {replicas: 0, template: made(idle)},
  };
  if (made(active) !== template) {
    // If it still has Pods of a template that was overtaken by a newer one, these go first.
    if (isEmpty(observed(idle))) next[idle].template = template;
    if (next[idle].template === template) next[idle].replicas = replicas;
    if (made(idle) === template && isAvailable(observed(idle), replicas)) next.service = idle;
  }
  return {
    status: {
      activeColor: active,
      active: observed(active)?.status ?? {},
      inactive: observed(idle)?.status ?? {},
    },
    children: [
      newService(service, next.service),
      newReplicaSet(parent, "blue", next.blue),
      newReplicaSet(parent, "green", next.green),
    ],
  };
}

function newService({metadata, spec}, color) {
  return {apiVersion: "v1", kind: "Service", metadata, spec: {...spec, selector: {...spec.selector, color}}};
}

function newReplicaSet({metadata: {name}, spec: {minReadySeconds, selector}}, color, {replicas, template}) {
  const {metadata, spec} = JSON.parse(template);
  const labels = {...metadata.labels, color};
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {name: `${name}-${color}`, labels, annotations: {[TEMPLATE]: template}},
    spec: {
      replicas,
      minReadySeconds,
      selector: {...selector, matchLabels: {...selector.matchLabels, color}},
      template: {metadata: {...metadata, labels}, spec},
    },
  };
}

// What the ReplicaSet controller counts is worth something once it has seen the latest spec.
const isSettled = set => set?.status?.observedGeneration === set?.metadata.generation;
const isEmpty = set => !set || isSettled(set) && set.spec.replicas === 0 && set.status.replicas === 0;
const isAvailable = (set, replicas) => set && isSettled(set) && (set.status.availableReplicas ?? 0) === replicas;
