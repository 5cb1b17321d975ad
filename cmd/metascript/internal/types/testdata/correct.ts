import {conditions} from "metascript";
import type {Async, Backup, Finalize, Parent, Sync, SyncRequest, SyncResponse} from "metascript";

export function sync({parent, children}: SyncRequest): SyncResponse {
  const deployment = children["Deployment.apps/v1"][parent.metadata.name];
  for (const group of Object.values(children)) console.log(Object.keys(group).length);
  return {
    children: [newBackup(parent), ...parent.spec.hosts?.map(name => newBackup(parent, name)) ?? []],
    status: {
      phase: deployment?.status.readyReplicas === parent.spec.replicas ? "Ready" : "Pending",
      conditions: conditions.set(parent.status?.conditions ?? [], {type: "Ready", status: "True"}),
    },
  };
}

export const finalize: Finalize = request => ({...sync(request), finalized: true});

export const later: Async<Sync> = async request => ({...sync(request), resyncAfterSeconds: 60});

function newBackup(site: Parent, name = site.metadata.name): Backup {
  return {apiVersion: "example.com/v1", kind: "Backup", metadata: {name}, schedule: "daily"};
}
