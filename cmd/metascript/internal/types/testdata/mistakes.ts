import type {Backup, Parent, Sync, SyncRequest, SyncResponse} from "metascript";

export function field({parent, children}: SyncRequest): SyncResponse {
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

export function status({parent}: SyncRequest): SyncResponse {
  return {children: [], status: {phse: "Ready"}};
}

export function read({parent}: SyncRequest): SyncResponse {
  console.log(parent.spec.imagee);
  return {children: []};
}

export function answer(): SyncResponse {
  return {childern: []};
}

export function undeclared({parent, children}: SyncRequest): SyncResponse {
  const {name} = parent.metadata;
  console.log(children["Deployments.apps/v1"][name], children["Pod.v1"]);
  return {children: [{apiVersion: "v1", kind: "Pod", metadata: {name}}]};
}

function newBackup({metadata: {name}}: Parent): Backup {
  return {apiVersion: "example.com/v1", kind: "Backup", metadata: {name}, scedule: "daily"};
}

export const arrow: Sync = ({parent}) => ({children: [newBackup(parent)], status: {phase: "Done"}});
