// Two ReplicaSets, blue and green, and a Service that selects the Pods of one of them. A new template is set in the other one;
// when all its Pods are available, the Service switches to it, and then the Pods of the previous one are deleted.

// An annotation of each ReplicaSet has its template as desired, because the API server adds defaults to the template itself.
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
    // If it still has Pods of an outdated template, these are deleted first.
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

// The counts in the status are valid only if the ReplicaSet controller has observed the latest spec.
const isSettled = set => set?.status?.observedGeneration === set?.metadata.generation;
const isEmpty = set => !set || isSettled(set) && set.spec.replicas === 0 && set.status.replicas === 0;
const isAvailable = (set, replicas) => set && isSettled(set) && (set.status.availableReplicas ?? 0) === replicas;
