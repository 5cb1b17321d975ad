package controller

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"metascript/controller/metrics"
)

// count registers the metrics, if some are to be kept, and has requests to the API server counted.
func (o *Options) count() (*metrics.Metrics, error) {
	if o.Metrics == nil {
		return nil, nil
	}
	m, err := metrics.New(o.Metrics)
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	o.Config = rest.CopyConfig(o.Config)
	o.Config.Wrap(m.Requests.Wrap)
	return m, nil
}

// collect registers what is counted only when somebody asks.
func (s *Server) collect() error {
	if s.Options.Metrics == nil {
		return nil
	}
	if err := s.Options.Metrics.Register(collector{s}); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	return nil
}

// A collector counts what a server has at the moment. What is gone is not counted, so that nothing has to be dropped.
type collector struct{ server *Server }

var (
	queueDepth    = prometheus.NewDesc("metascript_queue_depth", "Parents that wait for a sync.", []string{"controller_name", "controller_type"}, nil)
	cachedObjects = prometheus.NewDesc("metascript_cached_objects", "Objects in caches.", []string{"group", "version", "resource"}, nil)
	fallbacks     = prometheus.NewDesc("metascript_fallback_active", "Whether the webhook of a hook answers in place of its script: 1 or 0.", []string{"controller_name", "controller_type", "hook"}, nil)
	leading       = prometheus.NewDesc("leader_election_master_status", "Whether this server holds the Lease of that name: 1 or 0.", []string{"name"}, nil)
	leader        = prometheus.NewDesc("metascript_leader", "Whether this server works: 1, or 0 while it stands by.", nil, nil)
)

// Describe implements prometheus.Collector.
func (c collector) Describe(descs chan<- *prometheus.Desc) {
	descs <- queueDepth
	descs <- cachedObjects
	descs <- fallbacks
	descs <- leading
	descs <- leader
}

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, n int, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), labels...)
	}
	for _, r := range c.server.all() {
		gauge(queueDepth, r.loop.Waiting(), r.loop.Binding().Name, r.loop.Binding().Kind)
		for _, f := range r.loop.Current().Fallbacks() {
			active, _ := f.Active()
			gauge(fallbacks, oneIf(active), r.loop.Binding().Name, r.loop.Binding().Kind, f.Name)
		}
	}
	for resource, n := range c.server.caches.Sizes() {
		gauge(cachedObjects, n, resource.Group, resource.Version, resource.Resource)
	}
	gauge(leader, oneIf(c.server.leads()))
	if election := c.server.Election; election != nil {
		gauge(leading, oneIf(c.server.leads()), election.Name)
	}
}

func oneIf(is bool) int {
	if is {
		return 1
	}
	return 0
}
