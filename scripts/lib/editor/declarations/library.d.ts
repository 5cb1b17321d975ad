/** The answer of customize: which objects the other functions get in addition to the children. */
export interface CustomizeResponse {
  relatedResources?: readonly RelatedRule[] | null;
}

export interface RelatedRule {
  apiVersion: string;
  /** The plural name, such as "configmaps". */
  resource: string;
  labelSelector?: LabelSelector;
  namespaceSelector?: LabelSelector;
  namespace?: string;
  names?: readonly string[];
}

export interface LabelSelector {
  matchLabels?: {[key: string]: string};
  matchExpressions?: readonly LabelRequirement[];
}

export interface LabelRequirement {
  key: string;
  operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  values?: readonly string[];
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

/** A condition in a list in which all have the same fields. */
export interface HasType {
  readonly type: string;
}

/** An event to record on the parent. */
export interface Event {
  type?: "Normal" | "Warning";
  reason: string;
  message: string;
}

/** The type of an async function in TypeScript: Async<Sync>. In JavaScript it can have the type Sync itself. */
export type Async<F extends (request: any) => any> = (request: Parameters<F>[0]) => Promise<ReturnType<F>>;

/** Any value except undefined, which a function of the library does not accept. */
export type Value = {} | null;

/** A Kubernetes quantity, such as "100m", "1.5Gi" or 2. */
export type Quantity = string | number;

export namespace yaml {
  /** A YAML document, with sorted keys. */
  function encode(value: Value): string;
  /** The value of the single document in text, read as in Kubernetes; null if there is no document. */
  function decode(text: string): any;
  /** The list of the values of all documents in text; empty documents are left out. */
  function decodeAll(text: string): any[];
}

export namespace json {
  /** JSON with sorted keys, in one line, or indented with indent spaces per level. */
  function encode(value: Value, indent?: number): string;
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
  function matches(selector: LabelSelector | null | undefined, labels: {[key: string]: string} | null | undefined): boolean;
}

export namespace conditions {
  /** The condition of this type, or null. */
  function get<C extends HasType>(conditions: readonly C[] | null | undefined, type: string): C | null;
  /** The list with condition in the place of the condition of the same type, or at the end. */
  function set<C extends HasType>(conditions: readonly C[] | null | undefined, condition: C): C[];
  /** True if there is a condition of this type and its status is "True". */
  function isTrue(conditions: readonly HasType[] | null | undefined, type: string): boolean;
}

/** An observed Secret of which a value is kept: children["Secret.v1"][name]. */
export interface SecretWithData {
  readonly data?: any;
  [field: string]: any;
}

/** Values that are other ones for each parent and each controller, and the same in each call. They work only in a call of a hook. */
export namespace random {
  /** The value at key of the observed secret, or else a new password with a lower-case and an upper-case letter, a digit and a symbol. */
  function password(name: string, secret: SecretWithData | null | undefined, key: string, length?: number): string;
  /** The value at key of the observed secret, or else a new text of random characters, by default letters and digits. */
  function token(name: string, secret: SecretWithData | null | undefined, key: string, length?: number, alphabet?: string): string;
  /** current, if it is an element of list, or else an element that is chosen at random. */
  function choice<T extends Value>(name: string, list: readonly T[], current?: any): T;
}

/** The SHA-256 of the bytes of text, in hexadecimal. */
export function sha256(text: string): string;

/** A string of ten letters and digits, always the same for the same value, for use in names. */
export function hash(value: Value): string;

/** target with the changes in patch, a JSON merge patch (RFC 7386): null removes a field. */
export function merge(target: Value, patch: Value): any;

declare global {
  /** Printed text goes to the log of the server. */
  const console: Record<"debug" | "log" | "info" | "warn" | "error", (...values: any[]) => void>;
}
