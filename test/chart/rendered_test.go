package chart

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What a value changes: texts that the objects of one template have or do not have.
func TestRendered(t *testing.T) {
	for _, c := range []struct{ values, template, want, unwanted string }{
		{"", "workload", "kind: Deployment\n", "serviceName"},
		{"", "workload", "- --leader-election\n", ""},
		{"", "workload", "runAsNonRoot: true\n", "volumes:"},
		{"", "workload", "metascript:", "@"},
		{"image.tag=1.0,image.digest=sha256:0123456789abcdef0123456789abcdef", "workload", `image: "metascript@sha256:0123456789abcdef0123456789abcdef"`, ":1.0"},
		{"replaces=Manifests", "workload", "kind: StatefulSet\nmetadata:\n  name: metacontroller\n", "app.kubernetes.io/instance"},
		{"replaces=Chart", "workload", "kind: StatefulSet\nmetadata:\n  name: a-metacontroller-helm\n", "kind: Deployment"},
		{"replaces=Chart,fullnameOverride=b", "workload", "name: b\n", "a-metacontroller-helm"},
		{"scriptVolumes[0].name=team,scriptVolumes[0].configMap.name=scripts", "workload", "- --scripts-dir=/scripts/team\n", ""},
		{"scriptVolumes[0].name=team,scriptVolumes[0].configMap.name=scripts", "workload", "mountPath: /scripts/team\n          readOnly: true\n", ""},
		{"watchNamespaces={b,c}", "workload", "- --watch-namespaces=b,c\n", ""},
		{"", "workload", "kind: Deployment\n", "--apply-strategy"}, // without a cluster it is not known whether this is a first installation
		{"applyStrategy=ServerSideApply", "workload", "- --apply-strategy=server-side-apply\n", ""},
		{"applyStrategy=DynamicApply,replaces=Chart", "workload", "- --apply-strategy=dynamic-apply\n", ""},
		{"", "workload", "kind: Deployment\n", "trusted-authors"}, // blind
		{"", "workload", "kind: Deployment\n", "--require-service-account"},
		{"trustedAuthors=false", "workload", "  annotations:\n    metacontroller.k8s.io/trusted-authors: \"false\"\nspec:\n", ""},
		{"trustedAuthors=false", "workload", "- --require-service-account\n        - --process-isolation-namespaces=*\n", ""},
		{"trustedAuthors=false,commandArgs={--process-isolation-namespaces=}", "workload", "- --require-service-account\n        - --process-isolation-namespaces=\n", "=*"},
		{"trustedAuthors=false,replaces=Manifests", "workload", "- --require-service-account\n", ""},
		{"commandArgs={--verbosity=1}", "workload", "- --metrics-address=:9999\n        - --verbosity=1\n", ""},
		{"topologySpreadConstraints[0].maxSkew=1,topologySpreadConstraints[0].topologyKey=zone,topologySpreadConstraints[0].whenUnsatisfiable=DoNotSchedule",
			"workload", "app.kubernetes.io/instance: a\n            app.kubernetes.io/name: metascript\n        maxSkew: 1\n", ""},
		{"serviceAccount.create=false", "workload", "serviceAccountName: default\n", ""},
		{"", "rbac", "name: a-metascript\n", "-limited"},
		{"rbac.leastPrivilege=true", "rbac", "name: a-metascript-limited\n", "kind: ClusterRole\nmetadata:\n  name: a-metascript\n"},
		{"rbac.leastPrivilege=true", "rbac", "subjectaccessreviews", "- '*'"},
		{"trustedAuthors=false", "rbac", "name: a-metascript-limited\n", "- '*'"},
		{"trustedAuthors=false,rbac.leastPrivilege=false", "rbac", "- '*'\n", "-limited"},
		{"trustedAuthors=false", "rbac", "verbs: [get, list, watch, delete, deletecollection]", "create, update"},
		{"trustedAuthors=false", "account-policy", "kind: ValidatingAdmissionPolicy\n", ""},
		{"trustedAuthors=false", "networkpolicy", "- Egress\n", "ipBlock"},
		{"trustedAuthors=false", "networkpolicy", "    - {port: 443}\n    - {port: 6443}\n", ""},
		{"trustedAuthors=false,env[0].name=http_proxy,env[0].value=http://u:5@[fd00::3]/,env[1].name=OTEL_EXPORTER_OTLP_ENDPOINT,env[1].value=https://otel:4317", "networkpolicy",
			"    - {port: 443}\n    - {port: 6443}\n    - {port: 4317}\n", "{port: 5}"},
		{"trustedAuthors=false,env[0].name=HTTP_PROXY,env[0].value=proxy", "networkpolicy", "except: [169.254.0.0/16]}\n", ""},
		{"trustedAuthors=false,networkPolicy.egress[0].ports[0].port=444", "networkpolicy", "- Egress\n", "443"},
		{"watchNamespaces={b}", "rbac", "kind: Role\nmetadata:\n  name: a-metascript\n  namespace: b\n", "-limited"},
		{"watchNamespaces={b},rbac.clusterScoped=false", "rbac", "kind: RoleBinding", "kind: ClusterRole\n"},
		{"accountPolicy.enabled=true", "rbac", "verbs: [get, list, watch, delete, deletecollection]", "create, update"},
		{"podDisruptionBudget.minAvailable=1,replicas=2", "pdb", "minAvailable: 1\n", ""},
		{"networkPolicy.enabled=true", "networkpolicy", "- Ingress\n", "Egress"},
		{"networkPolicy.enabled=true,networkPolicy.egress[0].ports[0].port=443", "networkpolicy", "- Egress\n", ""},
		{"serviceMonitor.enabled=true", "service", "clusterIP: None\n", ""},
		{"dashboard.enabled=true", "monitoring", "grafana_dashboard: \"1\"\n", "kind: ServiceMonitor"},
		{"prometheusRule.enabled=true", "monitoring", "{{ $labels.controller_name }}", "kind: ConfigMap"},
	} {
		args := append(blind(c.values), "a", archive, "--show-only", "templates/"+c.template+".yaml")
		if c.values != "" {
			args = append(args, "--set", c.values)
		}
		out := helm(t, args...) + "\n"
		if !strings.Contains(out, c.want) {
			t.Errorf("%s: %s does not have %q:\n%s", c.values, c.template, c.want, out)
		}
		if c.unwanted != "" && strings.Contains(out, c.unwanted) {
			t.Errorf("%s: %s has %q:\n%s", c.values, c.template, c.unwanted, out)
		}
	}
	for values, template := range map[string]string{
		"trustedAuthors=false,accountPolicy.enabled=false": "account-policy", "trustedAuthors=false,rbac.clusterScoped=false": "account-policy",
		"trustedAuthors=false,networkPolicy.enabled=false": "networkpolicy", "trustedAuthors=true": "networkpolicy", "accountPolicy.enabled=": "account-policy",
		"crds.install=false": "crds", "rbac.create=false": "rbac", "serviceAccount.create=false": "serviceaccount",
		"podDisruptionBudget.minAvailable=1": "pdb", "service.enabled=false": "service",
	} {
		helmFails(t, "could not find template", append(blind(values), "a", archive, "--show-only", "templates/"+template+".yaml", "--set", values)...)
	}
}

// aggregated matches a ClusterRole that the chart once aggregated, or the binding that it has instead.
var aggregated = regexp.MustCompile(`\nkind: ClusterRole(Binding)?\nmetadata:\n  name: \S+-(server|controllers)\n`)

// withoutAggregated returns objects without those that aggregated matches.
func withoutAggregated(objects string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(objects, "\n---\n"), aggregated.MatchString), "\n---\n")
}

// Without a cluster, and with trusted authors, the objects are those of the chart before it had the value trustedAuthors.
func TestRenderedAsEarlier(t *testing.T) {
	before := earlier(t)
	for name, values := range matrix {
		if strings.Contains(values, "trustedAuthors") {
			continue
		}
		path := filepath.Join(t.TempDir(), "values.yaml")
		check(t, os.WriteFile(path, []byte(values), 0o600))
		want := helm(t, "template", "release", before, "--namespace", "a", "--values", path)
		for _, template := range [][]string{blind(values), blind("")} {
			got := helm(t, append(template, "release", archive, "--namespace", "a", "--values", path)...)
			if got, want := withoutAggregated(got), withoutAggregated(want); got != want {
				t.Errorf("%s %v: the objects differ:\n%s\nwant\n%s", name, template, got, want)
			}
		}
	}
}
