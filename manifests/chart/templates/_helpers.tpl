{{/* The name in the labels, and the default name in the names of objects: that of the chart which made them. */}}
{{- define "metascript.name" -}}
{{- .Values.nameOverride | default (get (dict "" .Chart.Name "Manifests" "metacontroller" "Chart" "metacontroller-helm") .Values.replaces) | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The name of the objects. */}}
{{- define "metascript.fullname" -}}
{{- $name := include "metascript.name" . }}
{{- if eq .Values.replaces "Manifests" }}
{{- $name }}
{{- else if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "metascript.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace }}
{{- end }}

{{/* The labels of the selector, which cannot be changed: a StatefulSet that is replaced keeps its own. */}}
{{- define "metascript.selectorLabels" -}}
app.kubernetes.io/name: {{ include "metascript.name" . }}
{{- if ne .Values.replaces "Manifests" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- end }}

{{- define "metascript.labels" -}}
{{ include "metascript.selectorLabels" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | trunc 63 | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | trimSuffix "." }}
{{- end }}

{{- define "metascript.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "metascript.fullname" .) "default" .Values.serviceAccount.create) }}
{{- end }}

{{/* The value of the flag --apply-strategy. Empty: no flag, which means dynamic apply. */}}
{{- define "metascript.applyStrategy" -}}
{{- $flag := "--apply-strategy=" }}
{{- $decides := not (or .Values.applyStrategy .Values.replaces (contains $flag (join " " .Values.commandArgs))) }}
{{- $runs := dict }}
{{- if $decides }}
{{- $runs = lookup "apps/v1" "Deployment" (include "metascript.namespace" .) (include "metascript.fullname" .) }}
{{- end }}
{{- if .Values.applyStrategy }}
{{- get (dict "DynamicApply" "dynamic-apply" "ServerSideApply" "server-side-apply") .Values.applyStrategy }}
{{- else if $runs }}
{{- $strategy := "" }}
{{- range $runs.spec.template.spec.containers }}
{{- range .args }}
{{- $strategy = ternary (trimPrefix $flag .) $strategy (hasPrefix $flag .) }}
{{- end }}
{{- end }}
{{- $strategy }}
{{- else if and $decides .Release.IsInstall (include "metascript.seen" .) (not (include "metascript.controllers" . | fromYaml).any) }}
{{- "server-side-apply" }}
{{- end }}
{{- end }}

{{/* "true" if the chart can see the cluster. Without access to it, as in "helm template", it sees no ClusterRoles, and every cluster has
some. Who may create the ClusterRoles of this chart may list them, and all other objects: the API server does not permit to grant more than
one has. */}}
{{- define "metascript.seen" -}}
{{- if and .Values.rbac.create .Values.rbac.clusterScoped (lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" "").items }}
{{- "true" }}
{{- end }}
{{- end }}

{{/* The controllers in the cluster, as YAML: "any" is true if there are some, and "without" has the kinds and names of those without an
account. */}}
{{- define "metascript.controllers" -}}
{{- $any := false }}
{{- $without := list }}
{{- if .Capabilities.APIVersions.Has "metacontroller.k8s.io/v1alpha1" }}
{{- range $kind := list "CompositeController" "DecoratorController" }}
{{- range (lookup "metacontroller.k8s.io/v1alpha1" $kind "" "").items }}
{{- $any = true }}
{{- if not (.spec | default dict).serviceAccount }}
{{- $without = append $without (printf "%s/%s" $kind .metadata.name) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- dict "any" $any "without" $without | toYaml }}
{{- end }}

{{/* "true" if an object is of this chart. */}}
{{- define "metascript.made" -}}
{{- if hasPrefix (printf "%s-" .root.Chart.Name) (get (.object.metadata.labels | default dict) "helm.sh/chart") }}
{{- "true" }}
{{- end }}
{{- end }}

{{/* "true" if an object is of this chart and of this release. */}}
{{- define "metascript.ours" -}}
{{- $annotations := .object.metadata.annotations | default dict }}
{{- $release := .root.Release }}
{{- if and (eq (get $annotations "meta.helm.sh/release-name") $release.Name) (eq (get $annotations "meta.helm.sh/release-namespace") $release.Namespace) }}
{{- include "metascript.made" . }}
{{- end }}
{{- end }}

{{/* "true" if a workload has the flag --require-service-account, in the command or in the arguments of a container. The last one counts. */}}
{{- define "metascript.requiresAccount" -}}
{{- $requires := "" }}
{{- range .spec.template.spec.containers }}
{{- range concat (.command | default list) (.args | default list) }}
{{- if regexMatch "^--require-service-account(=|$)" . }}
{{- $requires = ternary "" "true" (has (trimPrefix "--require-service-account=" .) (list "0" "f" "F" "false" "FALSE" "False")) }}
{{- end }}
{{- end }}
{{- end }}
{{- $requires }}
{{- end }}

{{/* "true" if the authors of controllers are trusted. Nobody is trusted, and nothing that runs is refused, without being said so: if the chart
cannot know what runs, it fails.

What runs is the workload of the release, and the object that this release writes or replaces. An annotation says that it does not trust
authors. Its flags do not say it, because they may be those of a user; if this chart did not make it, they do. An upgrade may change the name, the
namespace and the kind of the workload. It may have been in each namespace that a ClusterRoleBinding of the release names: who may write in
another namespace must not decide, with an object that looks like it. */}}
{{- define "metascript.trusted" -}}
{{- if kindIs "bool" .Values.trustedAuthors }}
{{- ternary "true" "" .Values.trustedAuthors }}
{{- else }}
{{- $kind := ternary "Deployment" "StatefulSet" (eq .Values.replaces "") }}
{{- $name := include "metascript.fullname" . }}
{{- $namespace := include "metascript.namespace" . }}
{{- $kinds := list $kind }}
{{- $namespaces := list $namespace }}
{{- $looks := and .Values.rbac.create .Values.rbac.clusterScoped }}
{{- if $looks }}
{{- $kinds = list "Deployment" "StatefulSet" }}
{{- range $binding := (lookup "rbac.authorization.k8s.io/v1" "ClusterRoleBinding" "" "").items }}
{{- if include "metascript.ours" (dict "root" $ "object" $binding) }}
{{- range $binding.subjects }}
{{- $namespaces = append $namespaces .namespace }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- $protected := false }}
{{- $trusting := "" }}
{{- $flag := false }}
{{- range $k := $kinds }}
{{- range $n := compact $namespaces | uniq }}
{{- range $o := (lookup "apps/v1" $k $n "").items }}
{{- $same := and (eq $k $kind) (eq $n $namespace) (eq $o.metadata.name $name) }}
{{- if or $same (include "metascript.ours" (dict "root" $ "object" $o)) }}
{{- $says := eq (get ($o.metadata.annotations | default dict) "metacontroller.k8s.io/trusted-authors") "false" }}
{{- $requires := ne (include "metascript.requiresAccount" $o) "" }}
{{- $made := ne (include "metascript.made" (dict "root" $ "object" $o)) "" }}
{{- if or $says (and $requires (not $made)) }}
{{- $protected = true }}
{{- else }}
{{- $trusting = printf "the %s %s in the namespace %s" $k $o.metadata.name $n }}
{{- $flag = or $flag $requires }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- $refuse := "trustedAuthors=false (controllers without an account, spec.serviceAccount, are then refused until they have one)" }}
{{- $permit := "trustedAuthors=true if they may act as the server" }}
{{- if $protected }}
{{- else if and $trusting $flag (not (contains "--require-service-account" (join " " .Values.commandArgs))) }}
{{- fail (printf "%s has the flag --require-service-account, which commandArgs does not have: set %s, or %s" $trusting $refuse $permit) }}
{{- else if and $trusting (or .Release.IsUpgrade .Values.replaces) }}
{{- "true" }}
{{- else if $trusting }}
{{- fail (printf "%s trusts the authors of controllers, and this is not an upgrade of it: set %s, or %s" $trusting $refuse $permit) }}
{{- else if include "metascript.seen" . }}
{{- $without := (include "metascript.controllers" . | fromYaml).without }}
{{- if .Release.IsUpgrade }}
{{- fail (printf "the release %s in the namespace %s has no %s, which would say whether the authors of controllers are trusted: set %s, or %s" .Release.Name .Release.Namespace $kind $refuse $permit) }}
{{- else if $without }}
{{- $names := join ", " (slice $without 0 (min 5 (len $without))) }}
{{- if gt (len $without) 5 }}
{{- $names = printf "%s and %d more" $names (sub (len $without) 5) }}
{{- end }}
{{- fail (printf "the cluster has controllers without an account (spec.serviceAccount): %s. Set trustedAuthors=true if they may act as the server, which may do everything, or trustedAuthors=false: they are then refused until they have an account" $names) }}
{{- end }}
{{- else if .Values.replaces }}
{{- "true" }}
{{- else }}
{{- $why := "the chart cannot see the cluster" }}
{{- if not $looks }}
{{- $why = "the chart does not look into the cluster, because rbac.create or rbac.clusterScoped is false" }}
{{- end }}
{{- fail (printf "%s, and so does not know whether the authors of controllers are trusted: set trustedAuthors=false for a new installation, or trustedAuthors=true to keep that controllers without an account (spec.serviceAccount) act as the server, as older releases of this chart did%s" $why (ternary ". With --dry-run=server, helm template sees the cluster" "" $looks)) }}
{{- end }}
{{- end }}
{{- end }}

{{/* "true" if a protection is on: a dict of root and value. A boolean value takes precedence. */}}
{{- define "metascript.protects" -}}
{{- if kindIs "bool" .value }}
{{- ternary "true" "" .value }}
{{- else if not (include "metascript.trusted" .root) }}
{{- "true" }}
{{- end }}
{{- end }}

{{/* "true" if the chart installs the account policy, which has no namespace. */}}
{{- define "metascript.accountPolicy" -}}
{{- if or (kindIs "bool" .Values.accountPolicy.enabled) (and .Values.rbac.create .Values.rbac.clusterScoped) }}
{{- include "metascript.protects" (dict "root" . "value" .Values.accountPolicy.enabled) }}
{{- end }}
{{- end }}

{{/* "true" if the server may do only what is permitted to it. */}}
{{- define "metascript.limited" -}}
{{- if or .Values.clusterRole.rules .Values.clusterRole.aggregationRule }}
{{- "true" }}
{{- else }}
{{- include "metascript.protects" (dict "root" . "value" .Values.rbac.leastPrivilege) }}
{{- end }}
{{- end }}

{{- define "metascript.networkPolicy" -}}
{{- include "metascript.protects" (dict "root" . "value" .Values.networkPolicy.enabled) }}
{{- end }}

{{/* What the Pods can connect to if authors are not trusted. A rule cannot name the API server, which is often not a Pod, and some network
plugins do not compare the addresses of nodes with a rule: so its ports are permitted at every address. */}}
{{- define "metascript.egress" -}}
{{- $ports := list 443 6443 }}
{{- if and .Values.rbac.create .Values.rbac.clusterScoped }}
{{- range (lookup "discovery.k8s.io/v1" "EndpointSlice" "default" "kubernetes").ports }}
{{- $ports = append $ports (int .port) }}
{{- end }}
{{- end }}
{{- range .Values.env }}
{{- $names := list "HTTPS_PROXY" "HTTP_PROXY" "https_proxy" "http_proxy" "OTEL_EXPORTER_OTLP_ENDPOINT" "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" }}
{{- if and (has .name $names) .value }}
{{- $port := regexFind ":[0-9]+([/?]|$)" .value | trimPrefix ":" | trimSuffix "/" | trimSuffix "?" }}
{{- $ports = append $ports (int ($port | default (ternary 443 80 (hasPrefix "https:" .value)))) }}
{{- end }}
{{- end }}
# DNS: port 53, and 5353 if the network plugin compares the ports of Pods and the DNS server listens there, as in OpenShift.
- ports:
  - {port: 53, protocol: UDP}
  - {port: 53, protocol: TCP}
  - {port: 5353, protocol: UDP}
  - {port: 5353, protocol: TCP}
# The API server, the proxy and the receiver of traces, at every address.
- ports:
  {{- range without $ports 80 | uniq }}
  - {port: {{ . }}}
  {{- end }}
{{- if has 80 $ports }}
# A proxy or a receiver of traces at port 80, at which the metadata services of clouds listen too.
- to:
  - namespaceSelector: {}
  - ipBlock: {cidr: 0.0.0.0/0, except: [169.254.0.0/16]}
  - ipBlock: {cidr: "::/0", except: ["fe80::/10", "fd00:ec2::254/128"]}
  ports:
  - {port: 80}
{{- end }}
# Webhooks in the cluster, at any port.
- to:
  - namespaceSelector: {}
    podSelector:
      matchLabels:
        metacontroller.k8s.io/webhook: "true"
{{- end }}

{{/* The subjects of the bindings. */}}
{{- define "metascript.subjects" -}}
- kind: ServiceAccount
  name: {{ include "metascript.serviceAccountName" . }}
  namespace: {{ include "metascript.namespace" . }}
{{- end }}

{{/* A role and its binding: a dict of root, kind (Role or ClusterRole), name, namespace, labels and content. */}}
{{- define "metascript.role" }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "metascript.labels" .root | nindent 4 }}
{{ toYaml .content }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "metascript.labels" .root | nindent 4 }}
subjects:
{{ include "metascript.subjects" .root }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .name }}
{{- end }}

{{/* Fails if the values contradict each other, or if a server that this release does not replace is in the cluster. */}}
{{- define "metascript.check" -}}
{{- $names := list .Values.nameOverride .Values.fullnameOverride | compact }}
{{- if and (eq .Values.replaces "Manifests") $names }}
{{- fail "with replaces=Manifests, the objects have the names of the manifests: remove nameOverride and fullnameOverride, or set replaces to Chart if you replace a release of Metacontroller's chart" }}
{{- end }}
{{- if and .Values.watchNamespaces .Values.clusterRole.aggregationRule }}
{{- fail "clusterRole.aggregationRule has no effect in namespaces: use clusterRole.rules, or remove watchNamespaces" }}
{{- end }}
{{- if and (hasKey .Values.podDisruptionBudget "minAvailable") (hasKey .Values.podDisruptionBudget "maxUnavailable") }}
{{- fail "podDisruptionBudget can have minAvailable or maxUnavailable, not both: remove one" }}
{{- end }}
{{- $name := include "metascript.fullname" . }}
{{- $namespace := include "metascript.namespace" . }}
{{- $own := ternary "Deployment" "StatefulSet" (eq .Values.replaces "") }}
{{- if not .Values.allowOtherServers }}
{{- range $kind := list "Deployment" "StatefulSet" }}
{{- range $o := (lookup "apps/v1" $kind "" "").items | default list }}
{{- $labels := $o.metadata.labels | default dict }}
{{- $annotations := $o.metadata.annotations | default dict }}
{{- $server := has (get $labels "app.kubernetes.io/name") (list "metascript" "metacontroller" "metacontroller-helm") }}
{{- range $o.spec.template.spec.containers }}
{{- $server = or $server (has "/usr/bin/metacontroller" (.command | default list)) }}
{{- end }}
{{- $same := and (eq $kind $own) (eq $o.metadata.name $name) (eq $o.metadata.namespace $namespace) }}
{{- $release := and (eq (get $annotations "meta.helm.sh/release-name") $.Release.Name) (eq (get $annotations "meta.helm.sh/release-namespace") $.Release.Namespace) }}
{{- if and $server $o.spec.replicas (not $same) (not $release) }}
{{- fail (printf "the %s %s in the namespace %s is a server already, and two servers would both write the objects of every controller. To replace it, see \"Replace Metacontroller\" in the README of this chart, or scale it to 0 replicas. To run both, set allowOtherServers to true, and give each server its own controllers, with --target-label-selector in commandArgs" $kind $o.metadata.name $o.metadata.namespace) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
