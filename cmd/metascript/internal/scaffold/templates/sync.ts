import { {{- range $i, $name := .Library}}{{if $i}}, {{end}}{{$name}}{{end}}} from "metascript";
import type {{if .Decorator}}{Attachment, Attachments, DecoratorSyncRequest, DecoratorSyncResponse}{{else}}{Child, Children, Parent, SyncRequest, SyncResponse}{{end}} from "metascript";
{{if .Decorator}}
// The settings of {{a .Parent.Kind}}.
interface Spec {
{{- range .Fields}}
  {{.Name}}: {{.Type}};
{{- end}}
}
{{- else}}
// The spec of {{a .Parent.Kind}}, as in crd.yaml. After a change there, run metascript types -f controller.yaml
type Spec = Parent["spec"];
{{- end}}
{{- if .WithReadiness}}

// {{a (lower .Child) | title}} that exists.
type Observed = {{title .Attached}}[keyof {{title .Attached}}][string];
{{- end}}
{{- if .Decorator}}

// {{a .Parent.Kind | title}} has this annotation. Its value is YAML with the fields that differ from DEFAULTS.
const SETTINGS = "{{.Annotation "settings"}}";
const DEFAULTS: Spec = {{.Defaults}};

// This annotation is set to "True" or "False".
const READY = "{{.Annotation "ready"}}";
{{- end}}

/**
 * {{.Makes}}.
 * The server calls this function whenever the {{.Parent.Kind}} or one of its {{.Attached}} changes. Nothing is kept
 * between calls: the answer depends only on the arguments.
 */
export function sync({ {{- .Object}}, {{.Attached}}}: {{if .Decorator}}Decorator{{end}}SyncRequest): {{if .Decorator}}Decorator{{end}}SyncResponse {
{{- if .Decorator}}
  const name = `${object.metadata.name}-{{.Name}}`;
  const spec: Spec = merge(DEFAULTS, yaml.decode(object.metadata.annotations?.[SETTINGS] ?? "") ?? {});
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
 */
export function finalize({attachments}: DecoratorSyncRequest): DecoratorSyncResponse {
  const finalized = Object.values(attachments).every((group) => Object.keys(group).length === 0);
  return {attachments: [], annotations: {[READY]: null}, finalized};
}
{{- else}}
  return {children: desired, status: status(missing)};
}

// The condition Ready. The server sets its lastTransitionTime, and status.observedGeneration.
function status(missing: string[]): SyncResponse["status"] {
  if (missing.length > 0) {
    return {conditions: [{type: "Ready", status: "False", reason: "Waiting", message: `waiting for ${missing.join(", ")}`}]};
  }
  return {conditions: [{type: "Ready", status: "True", reason: "ChildrenReady", message: "all children are ready"}]};
}
{{- end}}

// The desired objects that do not exist or are not ready, such as "{{(index .Children 0).Kind.Kind}} {{.ChildName}}".
function notReady(desired: {{.Child}}[], {{.Attached}}: Record<string, Record<string, {{if .WithReadiness}}Observed{{else}}unknown{{end}}>>): string[] {
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

// Whether an object that exists is ready, as its status says.{{.WithoutReadiness}}
function isReady(child: Observed): boolean {
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

// The labels by which others find the Pods. They never change.
function selector(name: string) {
  return {"app.kubernetes.io/name": "{{.Name}}", "app.kubernetes.io/instance": name};
}

// The labels of all objects.
function labels(name: string, spec: Spec) {
  return {...selector(name), "app.kubernetes.io/version": spec.version};
}
{{- range .Children}}

// {{.Description}}
function {{.Function}}({{.TypedParameters}}): {{$.Child}} {
  return {{.Literal 1}};
}
{{- end}}
