const {conditions, hash} = require("metascript");

/** @type {import("metascript").Sync} */
function sync({parent, children, now}) {
  const {image, replicas, update, pages, template} = parent.spec;
  const {name} = parent.metadata;
  const deployment = children["Deployment.apps/v1"][name];
  const ready = deployment?.status.readyReplicas === replicas;
  const deployments = Object.values(children["Deployment.apps/v1"]).filter(d => d.spec.replicas !== 0);
  const backup = newBackup(parent);
  if (update === "Always") backup.keep = 5;
  return {
    children: [
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: {name, labels: {app: name, ...parent.spec.labels}},
        spec: {
          replicas,
          selector: {matchLabels: {app: name}},
          strategy: {rollingUpdate: {maxSurge: "25%", maxUnavailable: 1}},
          template: {
            metadata: {labels: {app: name}, annotations: {pages: hash(pages ?? [])}},
            spec: {
              ...template?.spec,
              containers: [{name: "web", image, args: parent.spec.hosts, resources: {limits: {memory: parent.spec.memory ?? "1Gi", cpu: 0.5}}}],
            },
          },
        },
      },
      {apiVersion: "v1", kind: "Service", metadata: {name}, spec: {ports: [{port: 80, targetPort: parent.spec.port}]}},
      backup,
      ...deployments,
    ],
    status: {
      phase: ready ? "Ready" : "Pending",
      conditions: conditions.set(parent.status?.conditions ?? [], {type: "Ready", status: ready ? "True" : "False"}),
    },
    events: [{type: "Normal", reason: "Synced", message: `at ${now}`}],
  };
}

/** @type {import("metascript").Finalize} */
function finalize(request) {
  const answer = sync(request);
  return {...answer, children: [], finalized: Object.keys(request.children["Deployment.apps/v1"]).length === 0};
}

/** @type {import("metascript").Customize} */
async function customize({parent}) {
  return {relatedResources: [{apiVersion: "v1", resource: "secrets", names: parent.spec.hosts}]};
}

/**
 * @param {import("metascript").Parent} site
 * @returns {import("metascript").Backup}
 */
function newBackup({metadata: {name}}) {
  return {apiVersion: "example.com/v1", kind: "Backup", metadata: {name}, schedule: "daily"};
}
