package controller

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/inspect"
	"metascript/controller/metrics"
	"metascript/controller/reconcile"
)

// state returns what the server knows now, for the metrics that are computed when they are requested.
func (s *Server) state() metrics.State {
	now := metrics.State{Leads: s.leading.IsOpen(), APIServer: s.connection.State().Condition, Caches: map[schema.GroupVersionResource]metrics.CacheState{}}
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

// Inspected returns what an inspect.Handler reads of the server.
func (s *Server) Inspected() inspect.Server {
	return inspect.Server{
		Tokens: s.unfencedClient.AuthenticationV1().TokenReviews(), Rights: s.unfencedClient.AuthorizationV1().SubjectAccessReviews(), Resources: s.resources,
		Leader: func() (string, bool) { return s.candidate.Leader(), s.leads() },
		Running: func() (all []*reconcile.Reconciler) {
			for _, r := range s.records.running() {
				all = append(all, r.Reconciler)
			}
			return all
		},
		APIServer: func() string { return strings.Join(s.Notes(), "\n") }, Object: s.watches.get,
	}
}
