// written by metascript types: types of requests, of answers, and of the library that a script can load.
//
//	/** @type {import("metascript").Sync} */
//	function sync({parent, children}) { ... }

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
  children?: DesiredObject[] | null;
  /** The new status of the parent. Without it the status does not change. */
  status?: Status | null;
  /** Call the function again after this number of seconds, once. */
  resyncAfterSeconds?: number;
  /** From finalize: finalization is complete, and the finalizer can be removed. */
  finalized?: boolean;
  events?: Event[];
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
  attachments?: DesiredObject[] | null;
  /** Labels to set on the object; null removes one. */
  labels?: {[key: string]: string | null};
  /** Annotations to set on the object; null removes one. */
  annotations?: {[key: string]: string | null};
  status?: Status | null;
  resyncAfterSeconds?: number;
  finalized?: boolean;
  events?: Event[];
}

/** The request of customize, also for a DecoratorController. */
export interface CustomizeRequest {
  controller: KubernetesObject;
  parent: KubernetesObject;
  now: string;
}

/** The answer of customize: which objects the other functions get in addition to the children. */
export interface CustomizeResponse {
  relatedResources?: RelatedRule[] | null;
}

export interface RelatedRule {
  apiVersion: string;
  /** The plural name, such as "configmaps". */
  resource: string;
  labelSelector?: LabelSelector;
  namespaceSelector?: LabelSelector;
  namespace?: string;
  names?: string[];
}

export interface LabelSelector {
  matchLabels?: {[key: string]: string};
  matchExpressions?: {key: string; operator: "In" | "NotIn" | "Exists" | "DoesNotExist"; values?: string[]}[];
}

/** A desired object. Fields that it does not set do not change. */
export interface DesiredObject {
  apiVersion: string;
  kind: string;
  metadata: Partial<ObjectMeta> & {name: string};
  [field: string]: any;
}

export interface Status {
  conditions?: Condition[];
  [field: string]: any;
}

export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  /** Leave it out: the server keeps it while the status is the same. */
  lastTransitionTime?: string;
  [field: string]: any;
}

/** An event to record on the parent. */
export interface Event {
  type?: "Normal" | "Warning";
  reason: string;
  message: string;
}

export type Sync = (request: SyncRequest) => SyncResponse | Promise<SyncResponse>;
export type Finalize = Sync;
export type DecoratorSync = (request: DecoratorSyncRequest) => DecoratorSyncResponse | Promise<DecoratorSyncResponse>;
export type DecoratorFinalize = DecoratorSync;
export type Customize = (request: CustomizeRequest) => CustomizeResponse | Promise<CustomizeResponse>;

/** A Kubernetes quantity, such as "100m", "1.5Gi" or 2. */
export type Quantity = string | number;

export namespace yaml {
  /** A YAML document, with sorted keys. */
  function encode(value: any): string;
  /** The value of the single document in text, read as in Kubernetes; null if there is no document. */
  function decode(text: string): any;
  /** The list of the values of all documents in text; empty documents are left out. */
  function decodeAll(text: string): any[];
}

export namespace json {
  /** JSON with sorted keys, in one line, or indented with indent spaces per level. */
  function encode(value: any, indent?: number): string;
  /** The value of JSON text. Integers are exact up to 64 bits. */
  function decode(text: string): any;
}

export namespace base64 {
  /** The UTF-8 bytes of text in base64. */
  function encode(text: string): string;
  /** The decoded string. Bytes that are not UTF-8 are an error. */
  function decode(text: string): string;
}

export namespace semver {
  /** The parts of a version. */
  function parse(version: string): {major: number; minor: number; patch: number; prerelease: string; build: string};
  /** True if version is a version, such as 1.2.3 or v1.2.3-rc.1+build. */
  function valid(version: any): boolean;
  /** -1, 0 or 1 if a is before, equal to or after b. */
  function compare(a: string, b: string): number;
  /** True if version meets a constraint such as ">=1.2.0 <2 || ~3.1". */
  function satisfies(version: string, constraint: string): boolean;
}

export namespace quantity {
  /** The value of a quantity as a number. */
  function parse(quantity: Quantity): number;
  /** The value of a quantity in thousandths, as an integer, rounded up. */
  function milli(quantity: Quantity): number;
  /** -1, 0 or 1 if a is less than, equal to or greater than b. */
  function compare(a: Quantity, b: Quantity): number;
  /** The sum, in the format of a. */
  function add(a: Quantity, b: Quantity): string;
  /** The canonical string of a quantity in Kubernetes. */
  function format(quantity: Quantity, style?: "decimal" | "binary" | "exponent"): string;
}

export namespace labels {
  /** True if the label selector selects an object with these labels. An empty selector selects all objects, null selects none. */
  function matches(selector: LabelSelector | null, labels: {[key: string]: string} | null): boolean;
}

export namespace conditions {
  /** The condition of this type, or null. */
  function get(conditions: Condition[] | null, type: string): Condition | null;
  /** The list with condition in the place of the condition of the same type, or at the end. */
  function set(conditions: Condition[] | null, condition: Condition): Condition[];
  /** True if there is a condition of this type and its status is "True". */
  function isTrue(conditions: Condition[] | null, type: string): boolean;
}

/** The SHA-256 of the bytes of text, in hexadecimal. */
export function sha256(text: string): string;

/** A string of ten letters and digits, always the same for the same value, for use in names. */
export function hash(value: any): string;

/** target with the changes in patch, a JSON merge patch (RFC 7386): null removes a field. */
export function merge(target: any, patch: any): any;

declare global {
  /** Printed text goes to the log of the server. */
  const console: Record<"debug" | "log" | "info" | "warn" | "error", (...values: any[]) => void>;
}
