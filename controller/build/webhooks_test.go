package build

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"metascript/controller/references"
)

// The second controller replaces the first, and its metrics have the same labels.
func TestMetricsAreRegisteredWhileAControllerRuns(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	open := func() *WebhookClients {
		loaded := load(t, newBuilder(), "hooks: {sync: {webhook: {url: 'http://admin:hunter2@x/sync?token=hunter3'}}, finalize: {webhook: {url: 'http://x/finalize'}}}")
		if err := loaded.Clients.Open(references.NewWatcher(nil), registry, func(references.Object) error { return nil }); err != nil {
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
