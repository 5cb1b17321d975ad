const { {{- range $i, $name := .Library}}{{if $i}}, {{end}}{{$name}}{{end}}} = require("metascript");
{{- if not .Decorator}}

/** @typedef {import("metascript").Parent["spec"]} Spec the spec of {{a .Parent.Kind}}; after a change of crd.yaml, run metascript types -f controller.yaml */
{{- end}}
{{- if .Decorator}}

// {{a .Parent.Kind | title}} has this annotation. Its value is YAML with the fields that differ from DEFAULTS.
const SETTINGS = "{{.Annotation "settings"}}";
const DEFAULTS = {{.Defaults}};

/** @typedef {typeof DEFAULTS} Spec */

// This annotation is set to "True" or "False".
const READY = "{{.Annotation "ready"}}";
{{- end}}
{{- if .WithReadiness}}

/** @typedef {NonNullable<import("metascript").{{title .Attached}}[string]>[string]} Observed {{a (lower .Child)}} that exists */
{{- end}}

/**
 * {{.Makes}}.
 * The server calls this function whenever the {{.Parent.Kind}} or one of its {{.Attached}} changes. Nothing is kept
 * between calls: the answer depends only on the arguments.
 * @type {import("metascript").{{if .Decorator}}Decorator{{end}}Sync}
 */
function sync({ {{- .Object}}, {{.Attached}}}) {
{{- if .Decorator}}
  const name = `${object.metadata.name}-{{.Name}}`;
  /** @type {Spec} */
  const spec = merge(DEFAULTS, yaml.decode(object.metadata.annotations?.[SETTINGS] ?? "") ?? {});
{{- else}}
  const {metadata: {name}, spec} = parent;
{{- end}}
{{- if .NeedsNamespace}}
  {{comment 1 (printf "%s has no namespace, so the objects need one." (a .Parent.Kind | title))}}
  const namespace = {{if .OfNamespaces}}object.metadata.name{{else}}"default"{{end}};
{{- end}}

  {{comment 1 .CheckComment}}
  if (!semver.valid(spec.version)) {
    throw new Error(`{{.InSpec "version"}}: ${JSON.stringify(spec.version)} is not a version such as 1.29.0`);
  }

  // All objects that should exist. One that exists and is not in the list is deleted.
  const desired = {{.Calls 1}};
  const missing = notReady(desired, {{.Attached}});
{{- if .Decorator}}
  return {attachments: desired, annotations: {[READY]: missing.length > 0 ? "False" : "True"}};
}

/**
 * The annotation was removed, or the {{.Parent.Kind}} is being deleted.
 * Delete all objects. When they are deleted, the server removes its finalizer from the {{.Parent.Kind}}.
 * @type {import("metascript").DecoratorFinalize}
 */
function finalize({attachments}) {
  const finalized = Object.values(attachments).every((group) => Object.keys(group ?? {}).length === 0);
  return {attachments: [], annotations: {[READY]: null}, finalized};
}
{{- else}}
  return {children: desired, status: status(missing)};
}

/**
 * The condition Ready. The server sets its lastTransitionTime, and status.observedGeneration.
 * @param {string[]} missing
 * @returns {import("metascript").SyncResponse["status"]}
 */
function status(missing) {
  if (missing.length > 0) {
    return {conditions: [{type: "Ready", status: "False", reason: "Waiting", message: `waiting for ${missing.join(", ")}`}]};
  }
  return {conditions: [{type: "Ready", status: "True", reason: "ChildrenReady", message: "all children are ready"}]};
}
{{- end}}

/**
 * The desired objects that do not exist or are not ready, such as "{{(index .Children 0).Kind.Kind}} {{.ChildName}}".
 * @param {import("metascript").{{.Child}}[]} desired
 * @param {import("metascript").{{title .Attached}}} {{.Attached}}
 */
function notReady(desired, {{.Attached}}) {
  return desired
    .filter(({apiVersion, kind, metadata}) => {
{{- if .Parent.Namespaced}}
      const observed = {{.Attached}}[`${kind}.${apiVersion}`]?.[metadata.name];
{{- else}}
      // A {{.Parent.Kind}} has no namespace: the keys of objects with a namespace are namespace/name.
      const key = metadata.namespace ? `${metadata.namespace}/${metadata.name}` : metadata.name;
      const observed = {{.Attached}}[`${kind}.${apiVersion}`]?.[key];
{{- end}}
      return !observed{{if .WithReadiness}} || !isReady(observed){{end}};
    })
    .map(({kind, metadata}) => `${kind} ${metadata.name}`);
}
{{- if .WithReadiness}}

/**
 * Whether an object that exists is ready, as its status says.{{.WithoutReadiness}}
 * @param {Observed} child
 */
function isReady(child) {
  switch (child.kind) {
{{- range .WithReadiness}}
    case "{{.Kind.Kind}}":
{{- with .Ready}}
{{- if .Condition}}
      return conditions.isTrue(child.status?.conditions, "{{.Condition}}");
{{- else}}
      return (child.status?.{{.Field}} ?? 0) === child.{{index .Equals 0}}{{if eq (index .Equals 0) "status"}}?{{end}}.{{index .Equals 1}};
{{- end}}
{{- end}}
{{- end}}
    default:
      return true;
  }
}
{{- end}}

/**
 * The labels by which others find the Pods. They never change.
 * @param {string} name
 */
function selector(name) {
  return {"app.kubernetes.io/name": "{{.Name}}", "app.kubernetes.io/instance": name};
}

/**
 * The labels of all objects.
 * @param {string} name
 * @param {Spec} spec
 */
function labels(name, spec) {
  return {...selector(name), "app.kubernetes.io/version": spec.version};
}
{{- range .Children}}

/**
 * {{.Description}}
{{- range .ParameterTypes}}
 * @param { {{- .Type}}} {{.Name}}
{{- end}}
 * @returns {import("metascript").{{$.Child}}}
 */
function {{.Function}}({{.Parameters}}) {
  return {{.Literal 1}};
}
{{- end}}
