package build

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/yaml"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/reach"
	"metascript/controller/references"
)

// The second controller replaces the first, and its metrics have the same labels.
func TestMetricsAreRegisteredWhileAControllerRuns(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	open := func() *WebhookClients {
		loaded := load(t, newBuilder(), "hooks: {sync: {webhook: {url: 'http://admin:hunter2@x/sync?token=hunter3'}}, finalize: {webhook: {url: 'http://x/finalize'}}}")
		if err := loaded.Clients.Open(references.NewWatcher(nil), registry, Reader{Permit: func(references.Object) error { return nil }}); err != nil {
			t.Fatal(err)
		}
		return &loaded.Clients
	}
	for _, clients := range []*WebhookClients{open(), open()} {
		if err := clients.Register(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"metacontroller_finalize_in_flight_requests", "metacontroller_sync_in_flight_requests"}, metricNames(t, registry)); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
		clients.Close()
		if left := metricNames(t, registry); len(left) > 0 {
			t.Errorf("%q are still registered", left)
		}
	}
}

// metricNames lists the metrics that have values. The test fails if their labels are wrong.
func metricNames(t *testing.T, registry *prometheus.Registry) []string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, family := range families {
		names = append(names, family.GetName())
		labels := map[string]string{}
		for _, label := range family.GetMetric()[0].GetLabel() {
			labels[label.GetName()] = label.GetValue()
		}
		want := map[string]string{"controller_name": "c", "controller_type": "CompositeController", "url": "http://x/" + family.GetName()[len("metacontroller_"):len(family.GetName())-len("_in_flight_requests")]}
		if diff := cmp.Diff(want, labels); diff != "" {
			t.Errorf("labels of %s (-want +got):\n%s", family.GetName(), diff)
		}
	}
	return names
}

// The text of a response is shown to a tenant only if it is certain that one of the tenant's Pods sent it.
func TestServicesOfTenants(t *testing.T) {
	for spec, want := range map[string]string{
		`{clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1, "fd00::1"], selector: {app: web}}`: "10.0.0.1 fd00::1",
		`{clusterIPs: [None], selector: {app: web}}`:                                     "",
		`{type: ExternalName, externalName: internal.example.com, selector: {app: web}}`: "the Service team-a/web has no selector",
		`{clusterIPs: [10.0.0.1]}`: "the Service team-a/web has no selector",
		`{clusterIPs: [10.0.0.1], externalIPs: [10.9.9.9], type: LoadBalancer, selector: {app: web}}`: "10.0.0.1",
	} {
		addresses, err := servicesOf("team-a", func(_ context.Context, o *object.Object) (*object.Object, error) {
			if o.GetKind() != "Service" || o.GetNamespace() != "team-a" || o.GetName() != "web" {
				t.Errorf("%s is read", object.RefOf(o))
			}
			found := map[string]any{}
			if err := yaml.Unmarshal([]byte("{apiVersion: v1, kind: Service, spec: "+spec+"}"), &found); err != nil {
				t.Fatal(err)
			}
			return object.New(found), nil
		})(t.Context(), "web")
		got := strings.Trim(fmt.Sprint(addresses), "[]")
		if err != nil {
			got = err.Error()
		}
		if got != want && (want == "" || !strings.HasPrefix(got, want)) {
			t.Errorf("%s: got %q, want %q", spec, got, want)
		}
	}
	_, err := servicesOf("team-a", func(context.Context, *object.Object) (*object.Object, error) {
		return nil, errors.New("it is forbidden")
	})(t.Context(), "web")
	if err == nil || err.Error() != "read the Service team-a/web: it is forbidden" {
		t.Errorf("got %v", err)
	}
}

func TestWebhooksOfAccountsAreLimited(t *testing.T) {
	const hooks = "hooks: {sync: {webhook: {url: 'http://x/sync'}}}"
	limited := newBuilder()
	limited.Networks = &reach.Networks{}
	for _, c := range []struct {
		builder *Builder
		spec    string
		limited bool
	}{
		{limited, hooks + "\nserviceAccount: {namespace: team-a, name: web}", true},
		{limited, hooks, false},
		{newBuilder(), hooks + "\nserviceAccount: {namespace: team-a, name: web}", false},
	} {
		tenant := load(t, c.builder, c.spec).Sync.(*hook.Webhook).Client.Tenant
		if c.limited != (tenant != nil && tenant.Namespace == "team-a" && tenant.Networks == limited.Networks) {
			t.Errorf("%s: got %v, want that it is limited: %t", c.spec, tenant, c.limited)
		}
	}
}
