package hook

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"metascript/controller/metrics"
)

var metricsLabels = prometheus.Labels{"url": "http://x/sync", "controller_name": "cats", "controller_type": "CompositeController"}

// scrape gives what a registry serves, a line each, without comments and the values of buckets and sums.
func scrape(t *testing.T, registry *prometheus.Registry) []string {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	var lines []string
	for line := range strings.Lines(w.Body.String()) {
		if name, _, _ := strings.Cut(line, "{"); !strings.HasPrefix(line, "#") && !strings.HasSuffix(name, "_bucket") && !strings.HasSuffix(name, "_sum") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

const metricsLabelsText = `controller_name="cats",controller_type="CompositeController"`

func TestMetricsHaveNamesOfMetacontroller(t *testing.T) {
	registry, counts := prometheus.NewPedanticRegistry(), metrics.NewWebhook(Sync, metricsLabels)
	if err := registry.Register(counts); err != nil {
		t.Fatal(err)
	}
	ours, code := newAuthority(t, "ours"), http.StatusOK
	s := secure(t, ours, &tls.Config{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if got, want := scrape(t, registry), "metacontroller_sync_in_flight_requests{"+metricsLabelsText+`,url="http://x/sync"} 1`; !slices.Contains(got, want) {
			t.Errorf("during a request there is no %s in %q", want, got)
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, "{}")
	})
	h := s.calling(t, always(Endpoint{TLS: trusting(ours)}))
	h.URL, h.Client.Wrap = strings.Replace(h.URL, "127.0.0.1", "localhost", 1), counts.Wrap
	for _, code = range []int{200, 200, 500} {
		_, _ = h.Call(t.Context(), newRequest(t))
	}
	want := []string{
		`metacontroller_sync_dns_duration_histogram_seconds_count{` + metricsLabelsText + `,event="dns_done",url="http://x/sync"} 1`,
		`metacontroller_sync_dns_duration_histogram_seconds_count{` + metricsLabelsText + `,event="dns_start",url="http://x/sync"} 1`,
		`metacontroller_sync_in_flight_requests{` + metricsLabelsText + `,url="http://x/sync"} 0`,
		`metacontroller_sync_request_duration_histogram_seconds_count{` + metricsLabelsText + `,method="post",url="http://x/sync"} 3`,
		`metacontroller_sync_requests_total{code="200",` + metricsLabelsText + `,method="post",url="http://x/sync"} 2`,
		`metacontroller_sync_requests_total{code="500",` + metricsLabelsText + `,method="post",url="http://x/sync"} 1`,
		`metacontroller_sync_tls_duration_histogram_seconds_count{` + metricsLabelsText + `,event="tls_handshake_done",url="http://x/sync"} 1`,
		`metacontroller_sync_tls_duration_histogram_seconds_count{` + metricsLabelsText + `,event="tls_handshake_start",url="http://x/sync"} 1`,
	}
	if diff := cmp.Diff(want, scrape(t, registry)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// A controller that is replaced by its next version has the same labels.
func TestMetricsCanBeRegisteredAgain(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	first, second := metrics.NewWebhook(Sync, metricsLabels), metrics.NewWebhook(Sync, metricsLabels)
	if err := registry.Register(first); err != nil {
		t.Fatal(err)
	}
	if !registry.Unregister(first) {
		t.Error("they cannot be unregistered")
	}
	if err := registry.Register(second); err != nil {
		t.Error(err)
	}
	other := prometheus.Labels{"url": "http://y/sync", "controller_name": "dogs", "controller_type": "DecoratorController"}
	if err := registry.Register(metrics.NewWebhook(Sync, other)); err != nil {
		t.Errorf("another controller's beside them: %v", err)
	}
}
