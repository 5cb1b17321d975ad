package endpoints

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// get calls a handler and returns the status code and the body.
func get(t *testing.T, handler http.Handler, path string) (int, string) {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
	body, err := io.ReadAll(recorder.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return recorder.Code, string(body)
}

func TestHandlers(t *testing.T) {
	count := prometheus.NewGauge(prometheus.GaugeOpts{Name: "metascript_things"})
	registry, err := NewRegistry(count)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		handler http.Handler
		path    string
		code    int
		want    string
	}{
		{Metrics(registry), "/metrics", 200, "metascript_things 0"},
		{Metrics(registry), "/metrics", 200, "go_goroutines"},
		{Metrics(registry), "/", 404, ""},
		{Profiles(), "/debug/pprof/", 200, "goroutine"},
		{Profiles(), "/debug/pprof/heap?debug=1", 200, "heap profile"},
	} {
		if code, body := get(t, c.handler, c.path); code != c.code || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d and %.300s, want %d and %q", c.path, code, body, c.code, c.want)
		}
	}
}

func TestAddressInUse(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, err = Serve(slog.New(slog.DiscardHandler),
		Endpoint{Flag: "health-probe-bind-address", Address: "127.0.0.1:0", Handler: http.NotFoundHandler()},
		Endpoint{Flag: "pprof-address", Address: "0", Handler: http.NotFoundHandler()},
		Endpoint{Flag: "metrics-address", Address: listener.Addr().String(), Handler: http.NotFoundHandler()})
	if err == nil || !strings.HasPrefix(err.Error(), "--metrics-address: ") {
		t.Errorf("the error is %v", err)
	}
}

// The body of the response of a failed probe has the reason, which kubectl describe shows.
func TestProbesReturnReasons(t *testing.T) {
	for _, c := range []struct {
		name     string
		healthy  error
		notReady []string
		notes    []string
		path     string
		code     int
		want     string
	}{
		{"alive", nil, []string{"caches"}, nil, "/healthz", 200, "ok\n"},
		{"not alive", errors.New("a worker hangs"), nil, nil, "/healthz", 500, "a worker hangs\n"},
		{"ready", errors.New("a worker hangs"), nil, nil, "/readyz", 200, "ok\n"},
		{"ready, with a note", nil, nil, []string{"it is slow"}, "/readyz", 200, "ok\nit is slow\n"},
		{"not ready", nil, []string{"caches", "leases"}, []string{"it is slow"}, "/readyz", 503, "caches\nleases\n"},
	} {
		probes := Probes(func(context.Context) error { return c.healthy }, func() []string { return c.notReady }, func() []string { return c.notes })
		if code, body := get(t, probes, c.path); code != c.code || body != c.want {
			t.Errorf("%s: %d and %q, want %d and %q", c.name, code, body, c.code, c.want)
		}
	}
}

// The timeout of a probe is one second, so the health check must end before that.
func TestHealthCheckHasADeadline(t *testing.T) {
	var limited bool
	probes := Probes(func(ctx context.Context) error {
		_, limited = ctx.Deadline()
		return nil
	}, nil, nil)
	if get(t, probes, "/healthz"); !limited {
		t.Error("the context of the health check has no deadline")
	}
}

func TestOptionalAddressMayBeInUse(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var text strings.Builder
	stop, err := Serve(slog.New(slog.NewTextHandler(&text, nil)), Endpoint{Flag: "inspect-address", Address: listener.Addr().String(), Handler: http.NotFoundHandler(), Optional: true})
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if !strings.Contains(text.String(), "flag=inspect-address") {
		t.Errorf("the log is %q", text.String())
	}
}

func TestServedUntilStopped(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	stop, err := Serve(slog.New(slog.DiscardHandler), Endpoint{Flag: "pprof-address", Address: address, Handler: http.NotFoundHandler()}, Endpoint{Flag: "metrics-address", Address: "", Handler: nil})
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + address)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Body.Close(); answer.StatusCode != http.StatusNotFound {
		t.Errorf("the handler responds with %s", answer.Status)
	}
	stop()
	if _, err := client.Get("http://" + address); err == nil {
		t.Error("the server still responds after stop")
	}
}

// Many requests at the same time do not collect the metrics at the same time.
func TestMetricsAreCollectedOneAfterTheOther(t *testing.T) {
	var running, most atomic.Int32
	handler := Metrics(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		most.Store(max(most.Load(), running.Add(1)))
		runtime.Gosched()
		running.Add(-1)
		return nil, nil
	}))
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil))
		})
	}
	all.Wait()
	if most.Load() != 1 {
		t.Errorf("%d at the same time", most.Load())
	}
}
