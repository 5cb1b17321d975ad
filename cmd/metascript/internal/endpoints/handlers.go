package endpoints

import (
	"context"
	"fmt"
	"net/http"
	"net/http/pprof"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// probeTimeout is less than the default timeout of probes, which is one second.
const probeTimeout = 900 * time.Millisecond

// Probes serves /healthz, which responds with ok if healthy returns nil, and /readyz, which responds with ok if notReady returns no
// reasons. Otherwise they respond with the error or the reasons, which kubectl describe shows. The context of healthy has a deadline.
func Probes(healthy func(context.Context) error, notReady, notes func() []string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), probeTimeout)
		defer cancel()
		if err := healthy(ctx); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if reasons := notReady(); len(reasons) > 0 {
			http.Error(w, strings.Join(reasons, "\n"), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, strings.Join(append([]string{"ok"}, notes()...), "\n"))
	})
	return mux
}

// NewRegistry returns a registry with the metrics of the process and of others. It is not the default registry, to which any package
// can add metrics.
func NewRegistry(others ...prometheus.Collector) (*prometheus.Registry, error) {
	registry := prometheus.NewRegistry()
	process := []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})}
	for _, c := range append(process, others...) {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return registry, nil
}

// Metrics serves /metrics. The metrics are collected for one request after the other, so that many of them do not take all CPUs.
func Metrics(registry prometheus.Gatherer) http.Handler {
	var collecting sync.Mutex
	one := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		collecting.Lock()
		defer collecting.Unlock()
		return registry.Gather()
	})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(one, promhttp.HandlerOpts{}))
	return mux
}

// Profiles serves /debug/pprof for "go tool pprof".
func Profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
