
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
