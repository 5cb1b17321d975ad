package controller

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

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

// state returns what the server knows now, for the metrics that are computed when they are requested.
func (s *Server) state() metrics.State {
	now := metrics.State{Leads: s.leading.IsOpen(), Caches: map[schema.GroupVersionResource]metrics.CacheState{}}
	for resource, caches := range s.caches.States() {
		now.Caches[resource] = metrics.CacheState(caches)
	}
	if s.Election != nil {
		now.Lease = s.Election.Name
	}
	for _, m := range s.records.all() {
		c := metrics.ControllerState{Kind: m.id.Kind, Name: m.id.Name}
		if r := m.active.Load(); r != nil {
			c.Runs, c.Fallbacks = true, map[string]bool{}
			c.Waiting, c.OldestWait = r.Waiting()
			for _, f := range r.Current().Fallbacks() {
				c.Fallbacks[f.Name], _ = f.Active()
			}
		}
		if now.Leads {
			c.Status = m.summary.Load()
		}
		now.Controllers = append(now.Controllers, c)
	}
	return now
}
