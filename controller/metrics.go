package controller

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"metascript/controller/informer"
	"metascript/controller/lease"
	"metascript/controller/metrics"
)

// countRequests registers the metrics and returns a config whose requests to the API server are counted. If registry is nil,
// there are no metrics, and it returns config.
func countRequests(registry prometheus.Registerer, config *rest.Config) (*metrics.Metrics, *rest.Config, error) {
	if registry == nil {
		return nil, config, nil
	}
	m, err := metrics.New(registry)
	if err != nil {
		return nil, nil, fmt.Errorf("register metrics: %w", err)
	}
	config = rest.CopyConfig(config)
	config.Wrap(m.Requests.Wrap)
	return m, config, nil
}

// A collector computes metrics of the current state when they are requested. So nothing has to be dropped for deleted
// controllers.
type collector struct {
	records  *records
	caches   *informer.Factory
	leading  *lease.Gate
	election *lease.Election // nil: there is none
}

var (
	queueDepth    = prometheus.NewDesc("metascript_queue_depth", "Parents that wait for a sync.", []string{"controller_name", "controller_type"}, nil)
	cachedObjects = prometheus.NewDesc("metascript_cached_objects", "Objects in caches.", []string{"group", "version", "resource"}, nil)
	fallbacks     = prometheus.NewDesc("metascript_fallback_active", "Whether the webhook of a hook answers in place of its script: 1 or 0.", []string{"controller_name", "controller_type", "hook"}, nil)
	leading       = prometheus.NewDesc("leader_election_master_status", "Whether this server holds the Lease of that name: 1 or 0.", []string{"name"}, nil)
	leader        = prometheus.NewDesc("metascript_leader", "Whether this server runs the controllers: 1, or 0 while it is on standby.", nil, nil)
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
	for _, r := range c.records.running() {
		gauge(queueDepth, r.Waiting(), r.Binding().Name, r.Binding().Kind)
		for _, f := range r.Current().Fallbacks() {
			active, _ := f.Active()
			gauge(fallbacks, oneIf(active), r.Binding().Name, r.Binding().Kind, f.Name)
		}
	}
	for resource, n := range c.caches.Sizes() {
		gauge(cachedObjects, n, resource.Group, resource.Version, resource.Resource)
	}
	gauge(leader, oneIf(c.leading.IsOpen()))
	if c.election != nil {
		gauge(leading, oneIf(c.leading.IsOpen()), c.election.Name)
	}
}

func oneIf(is bool) int {
	if is {
		return 1
	}
	return 0
}
