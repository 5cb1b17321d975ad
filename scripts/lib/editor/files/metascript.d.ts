// written by metascript types: what a script is given and returns, and the library that it may require.
//
//	/** @type {import("metascript").Sync} */
//	function sync({parent, children}) { ... }

/** An object of Kubernetes. What is in it besides metadata depends on its kind. */
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

/** Objects in groups such as "Pod.v1" or "Deployment.apps/v1", and in a group by name, or by namespace/name. */
export interface Groups {
  [group: string]: {[name: string]: KubernetesObject};
}

/** What sync and finalize of a CompositeController are given. It is read-only: an assignment changes the call's own copy. */
export interface SyncRequest {
  /** The controller, without its status. */
  controller: KubernetesObject;
  parent: KubernetesObject;
  /** The observed children. A group is there for each kind in childResources, also while it is empty. */
  children: Groups;
  /** What customize asks for. */
  related: Groups;
  /** Whether finalize is asked. */
  finalizing: boolean;
  /** The time of the call, such as 2026-01-02T15:04:05Z. */
  now: string;
}

/** What sync and finalize of a CompositeController return. */
export interface SyncResponse {
  /** The objects that should exist; [] says on purpose that none should. */
  children?: DesiredObject[] | null;
  /** The parent's new status; without it the status stays. */
  status?: Status | null;
  /** Call again after so many seconds, once. */
  resyncAfterSeconds?: number;
  /** From finalize: the parent may go. */
  finalized?: boolean;
  events?: Event[];
}

/** What sync and finalize of a DecoratorController are given. */
export interface DecoratorSyncRequest {
  controller: KubernetesObject;
  object: KubernetesObject;
  /** The observed attachments. A group is there for each kind in the controller's attachments. */
  attachments: Groups;
  related: Groups;
  finalizing: boolean;
  now: string;
}

/** What sync and finalize of a DecoratorController return. */
export interface DecoratorSyncResponse {
  /** The objects that should exist; [] says on purpose that none should. */
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

/** What customize is given, for a decorator too. */
export interface CustomizeRequest {
  controller: KubernetesObject;
  parent: KubernetesObject;
  now: string;
}

/** What customize returns: which objects the other functions see besides the children. */
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

/** An object as it should be: what it does not say stays as it is. */
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
  /** Leave it out: the server keeps it while the status stays the same. */
  lastTransitionTime?: string;
  [field: string]: any;
}

/** An event on the parent. */
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

/** A quantity of Kubernetes, such as "100m", "1.5Gi" or 2. */
export type Quantity = string | number;

export namespace yaml {
  /** A document of YAML, with sorted keys. */
  function encode(value: any): string;
  /** The value of the one document in a text, as Kubernetes reads it; null if there is none. */
  function decode(text: string): any;
  /** The values of all documents in a text; empty ones are left out. */
  function decodeAll(text: string): any[];
}

export namespace json {
  /** JSON with sorted keys, in one line, or with so many blanks for each level. */
  function encode(value: any, indent?: number): string;
  /** The value of a text of JSON. Whole numbers are exact up to 64 bits. */
  function decode(text: string): any;
}

export namespace base64 {
  /** A text's bytes, in UTF-8, as base64. */
  function encode(text: string): string;
  /** The text that is encoded; it is an error if it is no text. */
  function decode(text: string): string;
}

export namespace semver {
  /** A version taken apart. */
  function parse(version: string): {major: number; minor: number; patch: number; prerelease: string; build: string};
  /** Whether a value is a version, such as 1.2.3 or v1.2.3-rc.1+build. */
  function valid(version: any): boolean;
  /** -1, 0 or 1, as a is before, the same as or after b. */
  function compare(a: string, b: string): number;
  /** Whether a version meets a constraint such as ">=1.2.0 <2 || ~3.1". */
  function satisfies(version: string, constraint: string): boolean;
}

export namespace quantity {
  /** A quantity as a number. */
  function parse(quantity: Quantity): number;
  /** A quantity in thousandths, rounded up. */
  function milli(quantity: Quantity): number;
  /** -1, 0 or 1. */
  function compare(a: Quantity, b: Quantity): number;
  /** The sum, written like a. */
  function add(a: Quantity, b: Quantity): string;
  /** A quantity as Kubernetes writes it. */
  function format(quantity: Quantity, style?: "decimal" | "binary" | "exponent"): string;
}

export namespace labels {
  /** Whether a label selector selects an object with these labels; an empty one selects everything, null nothing. */
  function matches(selector: LabelSelector | null, labels: {[key: string]: string} | null): boolean;
}

export namespace conditions {
  /** The condition of a type, or null. */
  function get(conditions: Condition[] | null, type: string): Condition | null;
  /** The conditions with this one in the place of the one of its type, or at the end. */
  function set(conditions: Condition[] | null, condition: Condition): Condition[];
  /** Whether there is a condition of a type, and its status is "True". */
  function isTrue(conditions: Condition[] | null, type: string): boolean;
}

/** The SHA-256 of a text's bytes, in hexadecimal. */
export function sha256(text: string): string;

/** Ten letters and digits that stay the same while the value does, for names. */
export function hash(value: any): string;

/** The target with the changes of a JSON merge patch, RFC 7386: null removes a field. */
export function merge(target: any, patch: any): any;

declare global {
  /** What is printed goes to the server's log. */
  const console: Record<"debug" | "log" | "info" | "warn" | "error", (...values: any[]) => void>;
}
