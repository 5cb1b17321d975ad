/** @type {import("metascript").Sync} */
function field({parent, children}) {
  const {name} = parent.metadata;
  return {
    children: [{
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: {name},
      spec: {
        selector: {matchLabels: {app: name}},
        template: {metadata: {labels: {app: name}}, spec: {contianers: [{name: "web", image: parent.spec.image}]}},
      },
    }],
  };
}

/** @type {import("metascript").Sync} */
function status({parent}) {
  return {children: [], status: {phse: "Ready"}};
}

/** @type {import("metascript").Sync} */
function read({parent}) {
  console.log(parent.spec.imagee);
  return {children: []};
}

/** @type {import("metascript").Sync} */
function answer() {
  return {childern: []};
}

/** @type {import("metascript").Sync} */
function undeclared({parent, children}) {
  const {name} = parent.metadata;
  console.log(children["Deployments.apps/v1"][name]);
  return {children: [{apiVersion: "v1", kind: "Pod", metadata: {name}}]};
}

/** @type {import("metascript").Sync} */
function values({parent}) {
  const {name} = parent.metadata;
  return {
    children: [
      {apiVersion: "v1", kind: "Service", metadata: {name, lables: {}}, spec: {type: "Loadbalancer", ports: [{port: "80"}]}},
      {apiVersion: "v1", kind: "Deployment", metadata: {name}},
      {apiVersion: "example.com/v1", kind: "Backup", metadata: {}, schedule: "daily", kept: 1},
    ],
    status: {phase: "Done", conditions: [{type: "Ready", state: "True"}]},
  };
}

/**
 * @param {import("metascript").Parent} site
 * @returns {import("metascript").Service}
 */
function newService(site) {
  return {apiVersion: "v1", kind: "Service", metadata: {name: site.metadata.name}, spec: {port: [{port: 80}]}};
}

// A function without a type: TypeScript does not know that kind is always "Service".
function untyped(name) {
  return {apiVersion: "v1", kind: "Service", metadata: {name}};
}

/** @type {import("metascript").Sync} */
function useUntyped({parent}) {
  parent.spec.image = "nginx";
  return {children: [untyped(parent.metadata.name), newService(parent)]};
}
