local m = import 'metascript.libsonnet';
{{- if .Decorator}}

// {{a .Parent.Kind | title}} has this annotation. Its value is YAML with the fields that differ from defaults.
local settings = '{{.Annotation "settings"}}';
local defaults = {{.Defaults}};

// This annotation is set to "True" or "False".
local readyAnnotation = '{{.Annotation "ready"}}';
{{- end}}

// The labels by which others find the Pods. They never change.
local selector(name) = { 'app.kubernetes.io/name': '{{.Name}}', 'app.kubernetes.io/instance': name };

// The labels of all objects.
local labels(name, spec) = selector(name) { 'app.kubernetes.io/version': spec.version };
{{- range .Children}}

// {{.Description}}
local {{.Function}}({{.Parameters}}) = {{.Literal 0}};
{{- end}}
{{- if .WithReadiness}}

// Whether an object that exists is ready, as its status says.{{.WithoutReadiness}}
local isReady(child) =
  local status = std.get(child, 'status', {});
{{- range $i, $child := .WithReadiness}}
  {{if $i}}else {{end}}if child.kind == '{{.Kind.Kind}}' then
{{- with .Ready}}
{{- if .Condition}}
    m.conditions.isTrue(std.get(status, 'conditions'), '{{.Condition}}')
{{- else}}
    std.get(status, '{{.Field}}', 0) == {{if eq (index .Equals 0) "status"}}std.get(status, '{{index .Equals 1}}'){{else}}child.{{index .Equals 0}}.{{index .Equals 1}}{{end}}
{{- end}}
{{- end}}
{{- end}}
  else
    true;
{{- end}}

// The desired objects that do not exist or are not ready, such as "{{(index .Children 0).Kind.Kind}} {{.ChildName}}".
local notReady(desired, {{.Attached}}) = [
  child.kind + ' ' + child.metadata.name
  for child in desired
{{- if .Parent.Namespaced}}
  for observed in [std.get({{.Attached}}[child.kind + '.' + child.apiVersion], child.metadata.name)]
{{- else}}
  // A {{.Parent.Kind}} has no namespace: the keys of objects with a namespace are namespace/name.
  for namespace in [std.get(child.metadata, 'namespace')]
  for key in [if namespace == null then child.metadata.name else namespace + '/' + child.metadata.name]
  for observed in [std.get({{.Attached}}[child.kind + '.' + child.apiVersion], key)]
{{- end}}
  if observed == null{{if .WithReadiness}} || !isReady(observed){{end}}
];
{{- if not .Decorator}}

// The condition Ready. The server sets its lastTransitionTime, and status.observedGeneration.
local ready(missing) =
  if missing == [] then
    { type: 'Ready', status: 'True', reason: 'ChildrenReady', message: 'all children are ready' }
  else
    { type: 'Ready', status: 'False', reason: 'Waiting', message: 'waiting for ' + std.join(', ', missing) };
{{- end}}

{
  // {{.Makes}}.
  // The server calls this function whenever the {{.Parent.Kind}} or one of its {{.Attached}} changes.
  sync({{.Object}}, {{.Attached}})::
{{- if .Decorator}}
    local name = object.metadata.name + '-{{.Name}}';
    local given = m.yaml.decode(object.metadata.annotations[settings]);
    local spec = m.merge(defaults, if given == null then {} else given);
{{- else}}
    local name = parent.metadata.name;
    local spec = parent.spec;
{{- end}}
{{- if .NeedsNamespace}}
    {{comment 2 (printf "%s has no namespace, so the objects need one." (a .Parent.Kind | title))}}
    local namespace = {{if .OfNamespaces}}object.metadata.name{{else}}'default'{{end}};
{{- end}}

    {{comment 2 .CheckComment}}
    assert m.semver.valid(spec.version) : '{{.InSpec "version"}}: "%s" is not a version such as 1.29.0' % spec.version;

    // All objects that should exist. One that exists and is not in the list is deleted.
    local desired = {{.Calls 2}};
    local missing = notReady(desired, {{.Attached}});
{{- if .Decorator}}
    { attachments: desired, annotations: { [readyAnnotation]: if missing == [] then 'True' else 'False' } },

  // The annotation was removed, or the {{.Parent.Kind}} is being deleted.
  // Delete all objects. When they are deleted, the server removes its finalizer from the {{.Parent.Kind}}.
  finalize(attachments):: {
    attachments: [],
    annotations: { [readyAnnotation]: null },
    finalized: std.all([std.length(group) == 0 for group in std.objectValues(attachments)]),
  },
{{- else}}
    { children: desired, status: { conditions: [ready(missing)] } },
{{- end}}
}
