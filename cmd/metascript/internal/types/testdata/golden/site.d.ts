/** The parent that the functions of CompositeController sites get. */
export type Parent = ObservedSite;

/** The observed children, by group and name. For a cluster-scoped parent the name is namespace/name. */
export type Children = {
  readonly "ConfigMap.v1": {readonly [name: string]: ObservedConfigMap};
  readonly "Backup.example.com/v1": {readonly [name: string]: ObservedBackup};
} & {readonly [group: string]: {readonly [name: string]: ObservedConfigMap | ObservedBackup} | undefined};

/** The objects that customize requests, by group and name. */
export type Related = {
  readonly "Namespace.v1": {readonly [name: string]: ObservedNamespace};
} & {readonly [group: string]: {readonly [name: string]: ObservedNamespace} | undefined};

/** An object that should exist. */
export type Child = ConfigMap | Backup | NoKind;

/** The request of sync and finalize. It is read-only. */
export interface SyncRequest {
  /** The controller object, without its status. */
  readonly controller: KubernetesObject;
  readonly parent: Parent;
  readonly children: Children;
  readonly related: Related;
  /** True in a call of finalize. */
  readonly finalizing: boolean;
  /** The time of the call, such as 2026-01-02T15:04:05Z. */
  readonly now: string;
}

/** The answer of sync and finalize. */
export interface SyncResponse {
  /** The objects that should exist. [] deletes all. */
  children?: readonly Child[] | null;
  /** The new status of the parent. Without it the status does not change. */
  status?: SiteStatus | null;
  /** Call the function again after this number of seconds, once. */
  resyncAfterSeconds?: number;
  /** From finalize: finalization is complete, and the finalizer can be removed. */
  finalized?: boolean;
  events?: readonly Event[];
}

/** The request of customize. */
export interface CustomizeRequest {
  readonly controller: KubernetesObject;
  readonly parent: Parent;
  readonly now: string;
}

export type Sync = (request: SyncRequest) => SyncResponse;
export type Finalize = Sync;
export type Customize = (request: CustomizeRequest) => CustomizeResponse;

/** T with all its fields read-only. */
export type ReadonlyDeep<T> = {readonly [K in keyof T]: 0 extends 1 & T[K] ? any : ReadonlyDeep<T[K]>};

/** The metadata of a desired object. The server sets the namespace of the parent if there is none. */
export interface NamedMeta extends ObjectMeta {
  name: string;
}

/** The metadata of an observed object. */
export interface ObservedMeta extends ReadonlyDeep<ObjectMeta> {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp: string;
}

/** The metadata of an observed object in a namespace. */
export interface NamespacedMeta extends ObservedMeta {
  readonly namespace: string;
}

/** An observed object whose fields are not known. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObservedMeta;
  readonly [field: string]: any;
}

/** No object: with it, an error about a child is about the child's own kind, and not about all kinds. */
export interface NoKind {
  apiVersion: never;
  kind: never;
  metadata: never;
}

/** A Site is a website with its pages. */
export interface ObservedSite {
  readonly apiVersion: "example.com/v1";
  readonly kind: "Site";
  readonly metadata: NamespacedMeta;
  readonly spec: ObservedSiteSpec;
  readonly status?: ObservedSiteStatus;
}

/** ConfigMap holds configuration data for pods to consume. */
export interface ObservedConfigMap {
  readonly apiVersion: "v1";
  readonly kind: "ConfigMap";
  readonly metadata: NamespacedMeta;
  /**
   * BinaryData contains the binary data. Each key must consist of alphanumeric characters, '-', '_' or '.'. BinaryData
   * can contain byte sequences that are not in the UTF-8 range. The keys stored in BinaryData must not overlap with the
   * ones in the Data field, this is enforced during validation process. Using this field will require 1.10+ apiserver
   * and kubelet.
   */
  readonly binaryData?: {readonly [key: string]: string};
  /**
   * Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'. Values
   * with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must not overlap with the keys
   * in the BinaryData field, this is enforced during validation process.
   */
  readonly data?: {readonly [key: string]: string};
  /**
   * Immutable, if set to true, ensures that data stored in the ConfigMap cannot be updated (only object metadata can be
   * modified). If not set to true, the field can be modified at any time. Defaulted to nil.
   */
  readonly immutable?: boolean;
}

export interface ObservedBackup {
  readonly apiVersion: "example.com/v1";
  readonly kind: "Backup";
  readonly metadata: NamespacedMeta;
  readonly keep: number;
  readonly schedule: string;
  readonly status?: ObservedBackupStatus;
}

/** Namespace provides a scope for Names. Use of multiple namespaces is optional. */
export interface ObservedNamespace {
  readonly apiVersion: "v1";
  readonly kind: "Namespace";
  readonly metadata: ObservedMeta;
  /**
   * Spec defines the behavior of the Namespace. More info:
   * https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status
   */
  readonly spec: ReadonlyDeep<NamespaceSpec>;
  /**
   * Status describes the current status of a Namespace. More info:
   * https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status
   */
  readonly status: ReadonlyDeep<NamespaceStatus>;
}

/** ConfigMap holds configuration data for pods to consume. */
export interface ConfigMap {
  apiVersion: "v1";
  kind: "ConfigMap";
  metadata: NamedMeta;
  /**
   * BinaryData contains the binary data. Each key must consist of alphanumeric characters, '-', '_' or '.'. BinaryData
   * can contain byte sequences that are not in the UTF-8 range. The keys stored in BinaryData must not overlap with the
   * ones in the Data field, this is enforced during validation process. Using this field will require 1.10+ apiserver
   * and kubelet.
   */
  binaryData?: {[key: string]: string};
  /**
   * Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'. Values
   * with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must not overlap with the keys
   * in the BinaryData field, this is enforced during validation process.
   */
  data?: {[key: string]: string};
  /**
   * Immutable, if set to true, ensures that data stored in the ConfigMap cannot be updated (only object metadata can be
   * modified). If not set to true, the field can be modified at any time. Defaulted to nil.
   */
  immutable?: boolean;
}

export interface Backup {
  apiVersion: "example.com/v1";
  kind: "Backup";
  metadata: NamedMeta;
  keep?: number;
  schedule: string;
  status?: BackupStatus;
}

export interface SiteStatus {
  conditions?: readonly SiteStatusConditions[];
  observedGeneration?: number;
  phase?: "Pending" | "Ready";
}

/** ObjectMeta is metadata that all persisted resources must have, which includes all objects users must create. */
export interface ObjectMeta {
  /**
   * Annotations is an unstructured key value map stored with a resource that may be set by external tools to store and
   * retrieve arbitrary metadata. They are not queryable and should be preserved when modifying objects. More info:
   * https://kubernetes.io/docs/concepts/overview/working-with-objects/annotations
   */
  annotations?: {[key: string]: string};
  /**
   * CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to
   * be set in happens-before order across separate operations. Clients may not set this value. It is represented in
   * RFC3339 form and is in UTC.
   *
   * Populated by the system. Read-only. Null for lists. More info:
   * https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
   */
  creationTimestamp?: string;
  /**
   * Number of seconds allowed for this object to gracefully terminate before it will be removed from the system. Only
   * set when deletionTimestamp is also set. May only be shortened. Read-only.
   */
  deletionGracePeriodSeconds?: number;
  /**
   * DeletionTimestamp is RFC 3339 date and time at which this resource will be deleted. This field is set by the server
   * when a graceful deletion is requested by the user, and is not directly settable by a client. The resource is
   * expected to be deleted (no longer visible from resource lists, and not reachable by name) after the time in this
   * field, once the finalizers list is empty. As long as the finalizers list contains items, deletion is blocked. Once
   * the deletionTimestamp is set, this value may not be unset or be set further into the future, although it may be
   * shortened or the resource may be deleted prior to this time. For example, a user may request that a pod is deleted
   * in 30 seconds. The Kubelet will react by sending a graceful termination signal to the containers in the pod. After
   * that 30 seconds, the Kubelet will send a hard termination signal (SIGKILL) to the container and after cleanup,
   * remove the pod from the API. In the presence of network partitions, this object may still exist after this
   * timestamp, until an administrator or automated process can determine the resource is fully terminated. If not set,
   * graceful deletion of the object has not been requested.
   *
   * Populated by the system when a graceful deletion is requested. Read-only. More info:
   * https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
   */
  deletionTimestamp?: string;
  /**
   * Must be empty before the object is deleted from the registry. Each entry is an identifier for the responsible
   * component that will remove the entry from the list. If the deletionTimestamp of the object is non-nil, entries in
   * this list can only be removed. Finalizers may be processed and removed in any order. Order is NOT enforced because
   * it introduces significant risk of stuck finalizers. finalizers is a shared field, any actor with permission can
   * reorder it. If the finalizer list is processed in order, then this can lead to a situation in which the component
   * responsible for the first finalizer in the list is waiting for a signal (field value, external system, or other)
   * produced by a component responsible for a finalizer later in the list, resulting in a deadlock. Without enforced
   * ordering finalizers are free to order amongst themselves and are not vulnerable to ordering changes in the list.
   */
  finalizers?: readonly string[];
  /**
   * GenerateName is an optional prefix, used by the server, to generate a unique name ONLY IF the Name field has not
   * been provided. If this field is used, the name returned to the client will be different than the name passed. This
   * value will also be combined with a unique suffix. The provided value has the same validation rules as the Name
   * field, and may be truncated by the length of the suffix required to make the value unique on the server.
   *
   * If this field is specified and the generated name exists, the server will return a 409.
   *
   * Applied only if Name is not specified. More info:
   * https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#idempotency
   */
  generateName?: string;
  /** A sequence number representing a specific generation of the desired state. Populated by the system. Read-only. */
  generation?: number;
  /**
   * Map of string keys and values that can be used to organize and categorize (scope and select) objects. May match
   * selectors of replication controllers and services. More info:
   * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels
   */
  labels?: {[key: string]: string};
  /**
   * ManagedFields maps workflow-id and version to the set of fields that are managed by that workflow. This is mostly
   * for internal housekeeping, and users typically shouldn't need to set or understand this field. A workflow can be
   * the user's name, a controller's name, or the name of a specific apply path like "ci-cd". The set of fields is
   * always in the version that the workflow used when modifying the object.
   */
  managedFields?: readonly ManagedFieldsEntry[];
  /**
   * Name must be unique within a namespace. Is required when creating resources, although some resources may allow a
   * client to request the generation of an appropriate name automatically. Name is primarily intended for creation
   * idempotence and configuration definition. Cannot be updated. More info:
   * https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names
   */
  name?: string;
  /**
   * Namespace defines the space within which each name must be unique. An empty namespace is equivalent to the
   * "default" namespace, but "default" is the canonical representation. Not all objects are required to be scoped to a
   * namespace - the value of this field for those objects will be empty.
   *
   * Must be a DNS_LABEL. Cannot be updated. More info:
   * https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces
   */
  namespace?: string;
  /**
   * List of objects depended by this object. If ALL objects in the list have been deleted, this object will be garbage
   * collected. If this object is managed by a controller, then an entry in this list will point to this controller,
   * with the controller field set to true. There cannot be more than one managing controller.
   */
  ownerReferences?: readonly OwnerReference[];
  /**
   * An opaque value that represents the internal version of this object that can be used by clients to determine when
   * objects have changed. May be used for optimistic concurrency, change detection, and the watch operation on a
   * resource or set of resources. Clients must treat these values as opaque and passed unmodified back to the server.
   * They may only be valid for a particular resource or set of resources.
   *
   * Populated by the system. Read-only. Value must be treated as opaque by clients and . More info:
   * https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#concurrency-control-and-consistency
   */
  resourceVersion?: string;
  /** Deprecated: selfLink is a legacy read-only field that is no longer populated by the system. */
  selfLink?: string;
  /**
   * UID is the unique in time and space value for this object. It is typically generated by the server on successful
   * creation of a resource and is not allowed to change on PUT operations.
   *
   * Populated by the system. Read-only. More info:
   * https://kubernetes.io/docs/concepts/overview/working-with-objects/names#uids
   */
  uid?: string;
}

export interface ObservedSiteSpec {
  readonly hosts?: readonly string[];
  /** The image of the server. It listens on the port 80; see https://example.com/*\/image. */
  readonly image: string;
  readonly labels?: {readonly [key: string]: string};
  readonly limits?: ObservedSiteSpecLimits;
  readonly memory?: string;
  readonly pages?: readonly ObservedSiteSpecPages[];
  /** The port of the Service, by number or by name. */
  readonly port?: number | string;
  readonly replicas: number;
  readonly reserved?: {readonly [key: string]: never};
  readonly template?: any;
  readonly update: "Always" | "Never";
}

export interface ObservedSiteStatus {
  readonly conditions?: readonly ObservedSiteStatusConditions[];
  readonly observedGeneration?: number;
  readonly phase?: "Pending" | "Ready";
}

export interface ObservedBackupStatus {
  readonly last?: string;
}

/** NamespaceSpec describes the attributes on a Namespace. */
export interface NamespaceSpec {
  /**
   * Finalizers is an opaque list of values that must be empty to permanently remove object from storage. More info:
   * https://kubernetes.io/docs/tasks/administer-cluster/namespaces/
   */
  finalizers?: readonly string[];
}

/** NamespaceStatus is information about the current status of a Namespace. */
export interface NamespaceStatus {
  /** Represents the latest available observations of a namespace's current state. */
  conditions?: readonly NamespaceCondition[];
  /**
   * Phase is the current lifecycle phase of the namespace. More info:
   * https://kubernetes.io/docs/tasks/administer-cluster/namespaces/
   *
   * Possible enum values:
   *  - `"Active"` means the namespace is available for use in the system
   *  - `"Terminating"` means the namespace is undergoing graceful termination
   */
  phase?: "Active" | "Terminating";
}

export interface BackupStatus {
  last?: string;
}

export interface SiteStatusConditions {
  lastTransitionTime?: string;
  message?: string;
  reason?: string;
  status: "True" | "False" | "Unknown";
  type: string;
}

/**
 * ManagedFieldsEntry is a workflow-id, a FieldSet and the group version of the resource that the fieldset applies to.
 */
export interface ManagedFieldsEntry {
  apiVersion?: string;
  /**
   * FieldsType is the discriminator for the different fields format and version. There is currently only one possible
   * value: "FieldsV1"
   */
  fieldsType?: string;
  /** FieldsV1 holds the first JSON version format as described in the "FieldsV1" type. */
  fieldsV1?: any;
  /** Manager is an identifier of the workflow managing these fields. */
  manager?: string;
  /**
   * Operation is the type of operation which lead to this ManagedFieldsEntry being created. The only valid values for
   * this field are 'Apply' and 'Update'.
   */
  operation?: string;
  /**
   * Subresource is the name of the subresource used to update that object, or empty string if the object was updated
   * through the main resource. The value of this field is used to distinguish between managers, even if they share the
   * same name. For example, a status update will be distinct from a regular update using the same manager name. Note
   * that the APIVersion field is not related to the Subresource field and it always corresponds to the version of the
   * main resource.
   */
  subresource?: string;
  /**
   * Time is the timestamp of when the ManagedFields entry was added. The timestamp will also be updated if a field is
   * added, the manager changes any of the owned fields value or removes a field. The timestamp does not update when a
   * field is removed from the entry because another manager took it over.
   */
  time?: string;
}

/**
 * OwnerReference contains enough information to let you identify an owning object. An owning object must be in the same
 * namespace as the dependent, or be cluster-scoped, so there is no namespace field.
 */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  /**
   * If true, AND if the owner has the "foregroundDeletion" finalizer, then the owner cannot be deleted from the
   * key-value store until this reference is removed. See
   * https://kubernetes.io/docs/concepts/architecture/garbage-collection/#foreground-deletion for how the garbage
   * collector interacts with this field and enforces the foreground deletion. Defaults to false. To set this field, a
   * user needs "delete" permission of the owner, otherwise 422 (Unprocessable Entity) will be returned.
   */
  blockOwnerDeletion?: boolean;
  /** If true, this reference points to the managing controller. */
  controller?: boolean;
  /** Name of the referent. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names */
  name: string;
  /** UID of the referent. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#uids */
  uid: string;
}

export interface ObservedSiteSpecLimits {
  readonly rate?: number;
  readonly [field: string]: any;
}

export interface ObservedSiteSpecPages {
  readonly "content-type"?: string;
  readonly owner?: ObservedSiteSpecPagesOwner | null;
  readonly path: string;
}

export interface ObservedSiteStatusConditions {
  readonly lastTransitionTime?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly status: "True" | "False" | "Unknown";
  readonly type: string;
}

/** NamespaceCondition contains details about state of namespace. */
export interface NamespaceCondition {
  /** Last time the condition transitioned from one status to another. */
  lastTransitionTime?: string;
  /** Human-readable message indicating details about last transition. */
  message?: string;
  /** Unique, one-word, CamelCase reason for the condition's last transition. */
  reason?: string;
  /** Status of the condition, one of True, False, Unknown. */
  status: string;
  /** Type of namespace controller condition. */
  type: string;
}

export interface ObservedSiteSpecPagesOwner {
  readonly name?: string;
}
