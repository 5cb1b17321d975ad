/** A Kubernetes object. The fields besides metadata depend on its kind. */
export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: any;
  status: any;
  [field: string]: any;
}

export interface ObjectMeta {
  name: string;
  namespace?: string;
  labels?: {[key: string]: string};
  annotations?: {[key: string]: string};
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  finalizers?: string[];
  ownerReferences?: any[];
  [field: string]: any;
}

/** Objects by group, such as "Pod.v1" or "Deployment.apps/v1". In a group the key is the name, or namespace/name. */
export interface Groups {
  [group: string]: {[name: string]: KubernetesObject};
}

/** The request of sync and finalize of a CompositeController. It is read-only: an assignment changes only the copy of this call. */
export interface SyncRequest {
  /** The controller object, without its status. */
  controller: KubernetesObject;
  parent: KubernetesObject;
  /** The observed children. There is a group for each kind in childResources, also while it is empty. */
  children: Groups;
  /** The objects that customize requests. */
  related: Groups;
  /** True in a call of finalize. */
  finalizing: boolean;
  /** The time of the call, such as 2026-01-02T15:04:05Z. */
  now: string;
}

/** The answer of sync and finalize of a CompositeController. */
export interface SyncResponse {
  /** The objects that should exist. [] deletes all. */
  children?: readonly DesiredObject[] | null;
  /** The new status of the parent. Without it the status does not change. */
  status?: Status | null;
  /** Call the function again after this number of seconds, once. */
  resyncAfterSeconds?: number;
  /** From finalize: finalization is complete, and the finalizer can be removed. */
  finalized?: boolean;
  events?: readonly Event[];
}

/** The request of sync and finalize of a DecoratorController. */
export interface DecoratorSyncRequest {
  controller: KubernetesObject;
  object: KubernetesObject;
  /** The observed attachments. There is a group for each kind in the controller's attachments, also while it is empty. */
  attachments: Groups;
  related: Groups;
  finalizing: boolean;
  now: string;
}

/** The answer of sync and finalize of a DecoratorController. */
export interface DecoratorSyncResponse {
  /** The objects that should exist. [] deletes all. */
  attachments?: readonly DesiredObject[] | null;
  /** Labels to set on the object; null removes one. */
  labels?: {[key: string]: string | null};
  /** Annotations to set on the object; null removes one. */
  annotations?: {[key: string]: string | null};
  status?: Status | null;
  resyncAfterSeconds?: number;
  finalized?: boolean;
  events?: readonly Event[];
}

/** The request of customize, also for a DecoratorController. */
export interface CustomizeRequest {
  controller: KubernetesObject;
  parent: KubernetesObject;
  now: string;
}

/** A desired object. Fields that it does not set do not change. */
export interface DesiredObject {
  apiVersion: string;
  kind: string;
  metadata: Partial<ObjectMeta> & {name: string};
  [field: string]: any;
}

export interface Status {
  conditions?: readonly Condition[];
  [field: string]: any;
}

export type Sync = (request: SyncRequest) => SyncResponse;
export type Finalize = Sync;
export type DecoratorSync = (request: DecoratorSyncRequest) => DecoratorSyncResponse;
export type DecoratorFinalize = DecoratorSync;
export type Customize = (request: CustomizeRequest) => CustomizeResponse;
