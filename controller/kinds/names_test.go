package kinds

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The guess is right for all kinds of Kubernetes.
func TestPluralOfKindsOfKubernetes(t *testing.T) {
	for _, r := range Kubernetes() {
		if got := Plural(r.Kind); got != r.Plural {
			t.Errorf("the plural of %s is %s, want %s", r.Kind, got, r.Plural)
		}
	}
	for kind, want := range map[string]string{"Gateway": "gateways", "ServiceMesh": "servicemeshes", "KeyVault": "keyvaults", "Box": "boxes"} {
		if got := Plural(kind); got != want {
			t.Errorf("the plural of %s is %s, want %s", kind, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	for _, c := range []struct{ group, version, kind, want string }{
		{"apps", "v1", "Deploymnet", "Deployment.apps/v1"},
		{"extensions", "v1beta1", "Deployment", "Deployment.apps/v1"},
		{"", "", "deploy", "Deployment.apps/v1"},
		{"", "v2", "Pod", "Pod.v1"},
		{"example.com", "v1", "Pod", ""},
	} {
		got := ""
		if r, found := Kubernetes().Nearest(schema.GroupVersionKind{Group: c.group, Version: c.version, Kind: c.kind}); found {
			got = r.Name()
		}
		if got != c.want {
			t.Errorf("%s in %s/%s: got %q, want %q", c.kind, c.group, c.version, got, c.want)
		}
	}
}
